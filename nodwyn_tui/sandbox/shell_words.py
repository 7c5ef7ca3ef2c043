"""Which simple commands a shell command would run, so that an allow pattern can be held against
each of them (AGT-8). Whatever is not certain is not parsed, and so asks: better a question too many
than a command too many (SEC-2). Pure: nothing is expanded, looked up or run.
"""

import re
from collections.abc import Sequence

from nodwyn_tui.sandbox.shell_parser import Parser, Part, Unsure

_LONGEST = 20_000

_BLANK = "\x1f"
"""Stands for a blank within a word, which no blank of a pattern may meet."""

_BLANK_LIKE = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Letters and signs that look like a blank."""


def parts(command: str) -> tuple[Part, ...] | None:
    """The simple commands of `command`, those in substitutions and subshells too; `None` if that
    can't be told with certainty, or if there is none.
    """
    if len(command) > _LONGEST or not _legible(command):
        return None
    parser = Parser(command)
    try:
        parser.commands(closing="")
    except Unsure:
        return None
    return tuple(parser.found) or None


def matches(pattern: str, command: str) -> bool:
    """Whether `pattern` alone allows `command`."""
    return allowed((pattern,), command)


def allowed(patterns: Sequence[str], command: str) -> bool:
    """Whether every simple command of `command` matches one of the patterns, and none writes to or
    reads from a file by redirection.

    A pattern is held against the words, joined by one blank: `*` is any text, `?` one character,
    `[x]` the character x; ` *` at the end may also be nothing. `*` alone allows everything, and a
    pattern without wildcards also the command that it is, character for character.
    """
    if any(pattern == "*" or (pattern and _literal(pattern) == command) for pattern in patterns):
        return True
    found = parts(command)
    if found is None:
        return False
    globs = [_compiled(pattern) for pattern in patterns]
    return all(
        not part.redirected and any(glob.fullmatch(_joined(part.words)) for glob in globs)
        for part in found
    )


def _legible(command: str) -> bool:
    """No character that reads as another: no unusual blank, no control or direction code."""
    return all(
        (char.isprintable() and char not in _BLANK_LIKE) or char in "\n\t" for char in command
    )


def _joined(words: Sequence[str]) -> str:
    return " ".join(re.sub(r"[ \t\n]", _BLANK, word) for word in words)


def _compiled(pattern: str) -> re.Pattern[str]:
    optional = pattern.endswith(" *")
    body = "".join(_token(token) for token in _tokens(pattern[:-2] if optional else pattern))
    return re.compile(body + ("(?: .*)?" if optional else ""), re.DOTALL)


def _tokens(pattern: str) -> list[str]:
    return re.findall(r"\[[^]]\]|\*+|.", pattern, re.DOTALL)


def _token(token: str) -> str:
    match token[0]:
        case "*":
            return ".*"
        case "?":
            return "."
        case "[" if len(token) == 3:
            return re.escape(token[1])
        case _:
            return re.escape(token)


def _literal(pattern: str) -> str | None:
    """The one text that a pattern without wildcards is; `None` for another pattern."""
    tokens = _tokens(pattern)
    if any(token[0] in "*?" for token in tokens):
        return None
    return "".join(token[1] if len(token) == 3 else token for token in tokens)
