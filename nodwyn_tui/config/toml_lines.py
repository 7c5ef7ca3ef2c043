"""Which line of a TOML text each key stands in: the parser tells values, but not places.

The text is cut into statements (a header, or a key with its value): the shortest runs of lines
that parse by themselves.
"""

import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

_CLOSERS = ("]", "}", '"""', "'''")
"""A statement of several lines ends in a line with one of these."""
_MOST_TRIES = 200
"""A statement that is not whole after so many tries is given up, with all that follows."""


def key_lines(text: str) -> dict[tuple[str, ...], int]:
    """The line, from 1, of each key and table of a text that parses. Tables of an array share
    their first one's line.
    """
    lines: dict[tuple[str, ...], int] = {}
    table: tuple[str, ...] = ()
    for line, statement in _statements(text):
        value = _parsed(statement)
        if value is None:
            continue
        if statement.lstrip().startswith("["):
            table = _header(value)
            for depth in range(1, len(table) + 1):
                lines.setdefault(table[:depth], line)
        else:
            for path in _paths(value):
                lines.setdefault(table + path, line)
    return lines


def unfinished_line(text: str) -> int | None:
    """The line of the first statement that never becomes whole; `None` if each of them does."""
    for line, statement in _statements(text):
        if _parsed(statement) is None:
            return line
    return None


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """Each statement with its first line's number; the last one may not parse."""
    held: list[str] = []
    start = tries = 1
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), 1):
        if not held:
            start, tries = number, 0
            if not line.strip() or line.lstrip().startswith("#"):
                continue
        held.append(line)
        if len(held) > 1 and not any(closer in line for closer in _CLOSERS):
            continue
        tries += 1
        if tries > _MOST_TRIES:
            break
        if _parsed(statement := "\n".join(held)) is not None:
            yield start, statement
            held = []
    if held:
        yield start, "\n".join(held)


def _parsed(statement: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(statement)
    except (ValueError, RecursionError):
        return None


def _header(value: Mapping[str, Any]) -> tuple[str, ...]:
    path: tuple[str, ...] = ()
    node: Any = value
    while isinstance(node, dict) and node:
        (key, node) = next(iter(node.items()))
        path += (key,)
    return path


def _paths(value: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for key, item in value.items():
        yield (key,)
        if isinstance(item, dict):
            for rest in _paths(item):
                yield (key, *rest)
