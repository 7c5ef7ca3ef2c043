"""Source code to coloured lines, by pygments. Slow to import (its lexers too), so `markdown.py` and
this file are loaded after the first paint; see `rendering.py`.
"""

from functools import cache

from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.token import Token, _TokenType
from pygments.util import ClassNotFound

from nodwyn_tui.ui.widgets.lines import Span

_ROLES: dict[_TokenType, str] = {
    Token.Keyword: "kw",
    Token.Operator.Word: "kw",
    Token.Literal.String: "str",
    Token.Literal.Number: "num",
    Token.Comment: "com",
    Token.Name.Function: "fn",
    Token.Name.Builtin: "fn",
    Token.Name.Decorator: "fn",
    Token.Name.Class: "cls",
    Token.Name.Exception: "cls",
    Token.Name.Tag: "fn",
    Token.Name.Attribute: "cls",
    Token.Keyword.Constant: "num",
    Token.Generic.Inserted: "add",
    Token.Generic.Deleted: "remove",
    Token.Generic.Heading: "strong",
    Token.Generic.Subheading: "dim",
}
_MOST = 200_000
"""Characters; longer code is shown plain, so that no entry holds the screen up."""


def highlight(code: str, language: str) -> list[list[Span]]:
    """Each line's spans, in the roles of code. Plain where the language is not known."""
    lexer = _lexer(language) if len(code) <= _MOST else None
    if lexer is None:
        return [[Span(line, "block")] for line in code.split("\n")]
    rows: list[list[Span]] = [[]]
    for kind, value in lexer.get_tokens(code):
        role = _role(kind)
        first, *others = value.split("\n")
        rows[-1].append(Span(first, role))
        rows.extend([Span(text, role)] for text in others)
    while len(rows) > code.count("\n") + 1:
        rows.pop()
    return [[span for span in row if span.text] for row in rows]


@cache
def _lexer(language: str) -> Lexer | None:
    if not language:
        return None
    try:
        return get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


@cache
def _role(kind: _TokenType) -> str:
    at: _TokenType | None = kind
    while at is not None:
        if role := _ROLES.get(at):
            return f"block {role}"
        at = at.parent
    return "block"
