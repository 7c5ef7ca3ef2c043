"""Markdown to lines: markdown-it's tokens walked by hand. Text of it is never markup of ours.

Loaded after the first paint (`rendering.py`): parser and highlighter take longer to import than the
rest of the screen.
"""

import re
from collections.abc import Iterator
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.token import Token

from nodwyn_tui.ui.widgets.highlight import highlight
from nodwyn_tui.ui.widgets.lines import BLANK, Line, Span, cells, expand_tabs, wrap
from nodwyn_tui.ui.widgets.tables import table
from nodwyn_tui.ui.widgets.visible import visible

_ADDRESS = re.compile(r"https?://[^\s<>\"'`]*[^\s<>\"'`.,;:!?)\]}]")
_TASKS = {"[ ] ": "☐ ", "[x] ": "☑ ", "[X] ": "☑ "}
_BULLETS = "•◦▪"
_MARKS = {"strong": "strong", "em": "em", "s": "strike"}
_NARROWEST = 8
_HARD_WRAPPED = 60
"""Characters; a longer line was wrapped by its writer, a shorter one was meant to end."""


def markdown(text: str, width: int) -> list[Line]:
    """`text` laid out in `width` cells, one blank line between blocks."""
    return write(parse(visible(text)), width)


def write(tokens: list[Token], width: int) -> list[Line]:
    """Tokens of whole blocks laid out in `width` cells."""
    return _Writer(width).write(tokens)


def parse(text: str) -> list[Token]:
    """The tokens of a text."""
    return _parser().parse(text)


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])


class _Writer:
    """Writes blocks below each other, each line behind what its containers put before it."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._lines: list[Line] = []
        self._before: list[list[Span]] = []
        """For each container that is open: what stands before its first line, then the others."""
        self._tight: list[bool] = []
        self._numbers: list[int] = []
        self._begun = True
        """Nothing stands yet in the container that was opened last: no blank line is due."""

    def write(self, tokens: list[Token]) -> list[Line]:
        at = 0
        while at < len(tokens):
            at = self._block(tokens, at)
        return self._lines

    def _block(self, tokens: list[Token], at: int) -> int:
        token = tokens[at]
        match token.type:
            case "heading_open":
                self._space()
                level = int(token.tag[1])
                self._text(tokens[at + 1], "heading top" if level == 1 else "heading")
            case "paragraph_open":
                if not token.hidden:
                    self._space()
                self._text(tokens[at + 1], "")
            case "fence" | "code_block":
                self._code(token.content, token.info.strip().split(" ")[0])
            case "hr":
                self._space()
                self._emit((Span("─" * self._room(), "faint"),))
            case "table_open":
                return self._table(tokens, at)
            case _:
                self._container(tokens, at)
        return at + (3 if token.type in ("heading_open", "paragraph_open") else 1)

    def _container(self, tokens: list[Token], at: int) -> None:
        token = tokens[at]
        match token.type:
            case "bullet_list_open" | "ordered_list_open":
                self._space()
                self._tight.append(is_tight(tokens, at))
                start = token.attrGet("start")
                ordered = token.type == "ordered_list_open"
                self._numbers.append(int(start if start is not None else 1) if ordered else -1)
                self._begun = True
            case "bullet_list_close" | "ordered_list_close":
                self._tight.pop()
                self._numbers.pop()
            case "list_item_open":
                self._space()
                self._open(*self._bullet())
            case "blockquote_open":
                self._space()
                self._tight.append(False)
                self._open(Span("▎ ", "dim"), Span("▎ ", "dim"))
            case "blockquote_close":
                self._tight.pop()
                self._close()
            case "list_item_close":
                self._close()

    def _bullet(self) -> tuple[Span, Span]:
        number = self._numbers[-1]
        if number < 0:
            depth = sum(n < 0 for n in self._numbers)
            mark = f"{_BULLETS[(depth - 1) % len(_BULLETS)]} "
        else:
            mark = f"{number}. "
            self._numbers[-1] += 1
        return Span(mark, "dim"), Span(" " * len(mark))

    def _open(self, first: Span, others: Span) -> None:
        self._before.append([others, first])
        self._begun = True

    def _close(self) -> None:
        if len(self._before[-1]) > 1:  # an empty item still shows its bullet
            self._emit(())
        self._before.pop()
        self._begun = False

    def _space(self) -> None:
        """A blank line between what stands and what comes, unless a tight list says otherwise."""
        if self._begun:
            self._begun = False
        elif not (self._tight and self._tight[-1]):
            bars = [before[0] for before in self._before]
            self._lines.append(Line(tuple(bars)) if any(b.role for b in bars) else BLANK)

    def _room(self) -> int:
        return max(self._width - cells(before[-1] for before in self._before), _NARROWEST)

    def _emit(
        self, spans: tuple[Span, ...], *, soft: bool = False, lead: int = 0, role: str = ""
    ) -> None:
        prefix = [before.pop() if len(before) > 1 else before[0] for before in self._before]
        indent = cells(prefix)
        if role:
            fill = self._width - indent - cells(spans)
            spans = (*spans, Span(" " * max(fill, 0), role))
        keeps = soft or lead
        self._lines.append(Line((*prefix, *spans), lead + indent if keeps else 0, soft))

    def _text(self, inline: Token, role: str) -> None:
        begins_item = bool(self._numbers and self._before and len(self._before[-1]) > 1)
        for row in _rows(inline.children or [], role, may_be_task=begins_item):
            for number, spans in enumerate(wrap(row, self._room(), whole=True)):
                self._emit(spans, soft=number > 0)

    def _code(self, code: str, language: str) -> None:
        if not code:
            return
        self._space()
        inset = Span("  ", "block")
        for row in highlight(expand_tabs(code.removesuffix("\n")), language):
            for number, spans in enumerate(wrap(row, self._room() - 4, whole=True)):
                self._emit((inset, *spans), soft=number > 0, lead=2, role="block")

    def _table(self, tokens: list[Token], at: int) -> int:
        self._space()
        rows: list[list[list[Span]]] = []
        sides: list[str] = []
        while tokens[at].type != "table_close":
            token = tokens[at]
            if token.type == "tr_open":
                rows.append([])
            elif token.type in ("th_open", "td_open"):
                role = "strong" if token.type == "th_open" else ""
                parts = list(_rows(tokens[at + 1].children or [], role))
                rows[-1].append(parts[0] if parts else [])
                if len(rows) == 1:
                    sides.append(str(token.attrGet("style") or "").removeprefix("text-align:"))
            at += 1
        for spans in table(rows, sides, self._room()):
            self._emit(spans)
        return at + 1


def is_tight(tokens: list[Token], at: int) -> bool:
    """Whether the items of the list that opens at `at` stand without blank lines between."""
    level = tokens[at].level
    for token in tokens[at + 1 :]:
        if token.type == "paragraph_open" and token.level == level + 2:
            return token.hidden
        if token.level == level:
            break
    return True


def _rows(children: list[Token], role: str, *, may_be_task: bool = False) -> Iterator[list[Span]]:
    """Inline tokens as rows of spans, one for each line break."""
    row: list[Span] = []
    roles = [role] if role else []
    link = ""
    for number, token in enumerate(children):
        kind = token.type
        if kind == "softbreak" and sum(len(span.text) for span in row) > _HARD_WRAPPED:
            row.append(Span(" ", " ".join(roles)))
        elif kind in ("softbreak", "hardbreak"):
            yield row
            row = []
        elif kind == "link_open":
            link = str(token.attrGet("href") or "")
        elif kind == "link_close":
            row.extend(_target(row, link, roles))
            link = ""
        elif kind.endswith("_open"):
            roles.append(_MARKS.get(kind.removesuffix("_open"), ""))
        elif kind.endswith("_close"):
            roles.pop()
        else:
            row.extend(_leaf(token, " ".join(roles), link, may_be_task and number == 0))
    yield row


def _leaf(token: Token, role: str, link: str, may_be_task: bool) -> Iterator[Span]:
    text = token.content.replace("\n", " ")
    if token.type == "code_inline":
        yield Span(text, f"{role} code", link)
    elif token.type == "image":
        source = str(token.attrGet("src") or "")
        yield Span(f"[image: {text}]", f"{role} link", source)
        yield Span(f" ({source})", f"{role} dim")
    elif link:
        yield Span(text, f"{role} link", link)
    else:
        if may_be_task and text[:4] in _TASKS:
            text = _TASKS[text[:4]] + text[4:]
        yield from _with_addresses(text, role)


def _with_addresses(text: str, role: str) -> Iterator[Span]:
    at = 0
    for match in _ADDRESS.finditer(text):
        if match.start() > at:
            yield Span(text[at : match.start()], role)
        yield Span(match[0], f"{role} link", match[0])
        at = match.end()
    if at < len(text):
        yield Span(text[at:], role)


def _target(row: list[Span], link: str, roles: list[str]) -> list[Span]:
    """Where a link leads, in words, unless its text says so: nobody follows one unseen."""
    said = "".join(span.text for span in row if span.link == link)
    if not link or link.removeprefix("mailto:") == said or link.rstrip("/") == said.rstrip("/"):
        return []
    return [Span(f" ({visible(link)})", " ".join([*roles, "dim"]))]
