"""What folds say in place of a result (ENG-21). Which results are folded is `stale.py`'s question,
when `weighing.py`'s; how a window shows a fold is `rows`' business.
"""

import json
from dataclasses import dataclass

from nodwyn_tui.domain.events import ToolResult
from nodwyn_tui.domain.parts import Call

END = 2**62
"""The last line of a file whose length is not known."""
BY_HAND = "by hand"
"""Why a fold is there that the person made; all others are the program's."""
SHOWN_ARGUMENTS = 100
"""Characters of a call's arguments that a fold repeats."""


@dataclass(frozen=True, slots=True)
class Fold:
    """A result, by seq, the line that later windows show in its place, and why."""

    target: int
    text: str
    why: str


def stale_read(seq: int, path: str, first: int, last: int, since: str) -> Fold:
    """A read of a file's lines, both ends included, that is out of date `since` something."""
    start = {} if first == 1 and last == END else {"start": first}
    end = {} if last == END else {"end": last}
    arguments = json.dumps({"path": path, **start, **end}, ensure_ascii=False)
    return Fold(seq, f"[an earlier read: {since}; fs-read {arguments} shows it]", "stale read")


def superseded(call: Call, seq: int, by: int) -> Fold:
    """A failed attempt that was made again."""
    return Fold(
        seq,
        f"[a failed attempt: {call.name} {_shortened(call)} was made again at seq {by};"
        f" {_history(seq)} shows how it failed]",
        "superseded failure",
    )


def by_hand(call: Call, result: ToolResult) -> Fold:
    """The fold that the person asks for: what was asked, how much came back, and how to see it."""
    lines = result.text.count("\n") + 1
    size = f"{lines:,} lines" if lines > 1 else f"{len(result.text):,} characters"
    return Fold(
        result.seq,
        f"[folded by the person: {call.name} {_shortened(call)} gave {size};"
        f" {_history(result.seq)} shows them]",
        BY_HAND,
    )


def _shortened(call: Call) -> str:
    arguments = " ".join(call.arguments.split())
    if len(arguments) > SHOWN_ARGUMENTS:
        arguments = arguments[:SHOWN_ARGUMENTS] + "…"
    return arguments


def _history(seq: int) -> str:
    """The call that reads a result again."""
    return f'session_history {{"action": "read_item", "item": "i:{seq}"}}'
