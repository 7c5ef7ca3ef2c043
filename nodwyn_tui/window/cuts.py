"""Cutting an over-long result to head and tail, naming what is left out (ENG-17)."""

import json
import re
from dataclasses import dataclass

from nodwyn_tui.window.entries import BYTES_PER_TOKEN, size

MARKER_ROOM = 240
"""Bytes kept free for the marker's line, besides a path in it."""

MOST_PER_CHARACTER = 6
"""Bytes that JSON spends on a character at the most."""

RANGE_HEADER = re.compile(r"\A\[lines (\d+)-(\d+) of (\d+)[^\]\n]*\]\n")
"""What a ranged read begins with: its first and last line, and how many the file has."""


_ENCODER = json.JSONEncoder(ensure_ascii=False)
"""Made once: lines are measured by the thousand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What a cut needs to say how the rest is brought back: the result's seq, and the file's path
    if the result is a file read; `what` names what is cut. Before recipe 17 a cut was not `named`:
    it said its size only.
    """

    seq: int
    read_path: str | None = None
    named: bool = True
    what: str = "result"


def fits(text: str, cap: int) -> bool:
    """Whether `text` is within `cap` tokens as it is."""
    room = cap * BYTES_PER_TOKEN
    if len(text) * MOST_PER_CHARACTER + 2 <= room:
        return True
    return len(text) < room and size(_encoded(text)) <= cap


def cut(text: str, cap: int, source: Source) -> str:
    """What is shown of a text that does not fit `cap` tokens. Costs what is shown, not what is left
    out.
    """
    marker = MARKER_ROOM + len(_encoded(source.read_path or ""))
    room = max(cap * BYTES_PER_TOKEN - marker, BYTES_PER_TOKEN)
    if not source.named:
        return _cut_by_size(text, room, source)
    head = _head(text, room // 2)
    tail = _tail(text, sum(len(line) + 1 for line in head), room - room // 2)
    if not head and not tail:
        return _cut_by_size(text, room, source)
    last = text.count("\n") + 1 - len(tail)
    return "\n".join([*head, _lines_marker(text, len(head) + 1, last, source), *tail])


def _encoded(text: str) -> bytes:
    """As the canonical JSON spells it, quotes in place of a line's end."""
    return _ENCODER.encode(text).encode("utf-8")


def _head(text: str, room: int) -> list[str]:
    """The first lines that fit `room` bytes."""
    lines: list[str] = []
    at = 0
    while (end := text.find("\n", at)) >= 0:
        room -= _cost(text, at, end, room)
        if room < 0:
            break
        lines.append(text[at:end])
        at = end + 1
    return lines


def _tail(text: str, first: int, room: int) -> list[str]:
    """The last lines that fit `room` bytes, none from before the character `first`."""
    lines: list[str] = []
    at = len(text)
    while at > first:
        start = text.rfind("\n", first, at) + 1 or first
        room -= _cost(text, start, at, room)
        if room < 0:
            break
        lines.append(text[start:at])
        at = start - 1
    return lines[::-1]


def _cost(text: str, start: int, end: int, room: int) -> int:
    """Bytes of a line; more than `room` where its characters alone are too many."""
    return end - start if end - start > room else len(_encoded(text[start:end]))


def _lines_marker(text: str, first: int, last: int, source: Source) -> str:
    """Lines `first` to `last` of the result are left out, both counted from 1."""
    header = RANGE_HEADER.match(text)
    total = text.count("\n") + (not text.endswith("\n"))
    if source.read_path is None:
        return (
            f"[lines {first}-{last} of {total} of this {source.what} left out;"
            f' session_history {{"action": "read_item", "item": "i:{source.seq}"}} shows it whole]'
        )
    # A ranged read's own header is its first line, and says where in the file it begins.
    start = int(header.group(1)) if header else 1
    shift = start - 2 if header else 0
    total = int(header.group(3)) if header else total
    begin, end = max(first + shift, start), last + shift
    path = json.dumps(source.read_path, ensure_ascii=False)
    return (
        f"[lines {begin}-{end} of {total} left out;"
        f' fs-read {{"path": {path}, "start": {begin}, "end": {end}}} shows them]'
    )


def _cut_by_size(text: str, room: int, source: Source) -> str:
    """No line end to cut at: whole characters of head and tail, and a marker by size."""
    head = prefix_within(text, room // 2)
    tail = prefix_within(text[::-1], room - room // 2)[::-1]
    tokens = size(_encoded(text[len(head) : len(text) - len(tail)]))
    marker = (
        f"[about {tokens} tokens left out;"
        f' session_history {{"action": "read_item", "item": "i:{source.seq}"}} shows it whole]'
    )
    return f"{head}\n{marker}\n{tail}"


def prefix_within(text: str, room: int) -> str:
    """The longest start of `text` whose JSON fits `room` bytes."""
    low, high = 0, min(len(text), room)
    while low < high:
        middle = (low + high + 1) // 2
        if len(_encoded(text[:middle])) <= room:
            low = middle
        else:
            high = middle - 1
    return text[:low]
