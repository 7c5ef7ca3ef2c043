"""Cutting an over-long result to head and tail, naming what is left out (ENG-17)."""

import json
import re
from dataclasses import dataclass

from nodwyn_tui.window.entries import BYTES_PER_TOKEN, size

MARKER_ROOM = 240
"""Bytes kept free for the marker's line."""

_RANGE_HEADER = re.compile(r"\A\[lines (\d+)-(\d+) of (\d+)[^\]\n]*\]\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What a cut needs to say how the rest is brought back: the result's seq, and the file's path
    if the result is a file read. Before recipe 17 a cut was not `named`: it said its size only.
    """

    seq: int
    read_path: str | None = None
    named: bool = True


def cut(text: str, cap: int, source: Source) -> str | None:
    """`text` within `cap` tokens, or `None` if it fits as it is."""
    if size(_encoded(text)) <= cap:
        return None
    room = max(cap * BYTES_PER_TOKEN - MARKER_ROOM, BYTES_PER_TOKEN)
    if not source.named:
        return _cut_by_size(text, room, source)
    lines = text.split("\n")
    costs = [len(_encoded(line)) for line in lines]
    head = _fitting(costs, room // 2)
    tail = _fitting(costs[head:][::-1], room - room // 2)
    if head + tail == 0:
        return _cut_by_size(text, room, source)
    first, last = head + 1, len(lines) - tail
    marker = _lines_marker(text, first, last, source)
    return "\n".join([*lines[:head], marker, *lines[len(lines) - tail :]])


def _encoded(text: str) -> bytes:
    """As the canonical JSON spells it, quotes in place of a line's end."""
    return json.dumps(text, ensure_ascii=False).encode("utf-8")


def _fitting(costs: list[int], room: int) -> int:
    """How many of the first lines fit."""
    count = 0
    for cost in costs:
        room -= cost
        if room < 0:
            break
        count += 1
    return count


def _lines_marker(text: str, first: int, last: int, source: Source) -> str:
    """Lines `first` to `last` of the result are left out, both counted from 1."""
    header = _RANGE_HEADER.match(text)
    if source.read_path is None:
        total = text.count("\n") + 1
        return (
            f"[lines {first}-{last} of {total} of this result left out;"
            f' session_history {{"action": "read_item", "item": "i:{source.seq}"}} shows it whole]'
        )
    # A ranged read's own header is its first line, and says where in the file it begins.
    shift = int(header.group(1)) - 2 if header else 0
    total = int(header.group(3)) if header else text.count("\n") + 1
    begin, end = max(first + shift, 1), last + shift
    path = json.dumps(source.read_path, ensure_ascii=False)
    return (
        f"[lines {begin}-{end} of {total} left out;"
        f' fs-read {{"path": {path}, "start": {begin}, "end": {end}}} shows them]'
    )


def _cut_by_size(text: str, room: int, source: Source) -> str:
    """No line end to cut at: whole characters of head and tail, and a marker by size."""
    head = _prefix_within(text, room // 2)
    tail = _prefix_within(text[::-1], room - room // 2)[::-1]
    tokens = size(_encoded(text[len(head) : len(text) - len(tail)]))
    marker = (
        f"[about {tokens} tokens left out;"
        f' session_history {{"action": "read_item", "item": "i:{source.seq}"}} shows it whole]'
    )
    return f"{head}\n{marker}\n{tail}"


def _prefix_within(text: str, room: int) -> str:
    """The longest start of `text` whose JSON fits `room` bytes."""
    low, high = 0, min(len(text), room)
    while low < high:
        middle = (low + high + 1) // 2
        if len(_encoded(text[:middle])) <= room:
            low = middle
        else:
            high = middle - 1
    return text[:low]
