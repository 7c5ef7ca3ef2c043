"""Which results a session may fold, and when that pays (ENG-21). How a window shows a fold is
`rows`' business. The arithmetic is explained in `docs/folds.md`.
"""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from nodwyn_tui.domain.arguments import Malformed, read_arguments
from nodwyn_tui.domain.canonical import canonical
from nodwyn_tui.domain.events import Event, LlmResponse, ToolResult, WindowEdit
from nodwyn_tui.domain.parts import Call, Text
from nodwyn_tui.domain.request import Json, ToolRow
from nodwyn_tui.window import pairs
from nodwyn_tui.window.build import Window
from nodwyn_tui.window.cuts import RANGE_HEADER
from nodwyn_tui.window.entries import Entry, message_tokens
from nodwyn_tui.window.rows import READ_TOOL

EDIT_TOOLS = ("fs-edit", "fs-write", "fs-patch")
END = 2**62
"""The last line of a file whose length is not known."""
SHOWN_ARGUMENTS = 100
"""Characters of a call's arguments that a fold repeats."""


@dataclass(frozen=True, slots=True)
class Fold:
    """A result, by seq, the line that later windows show in its place, and why."""

    target: int
    text: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """When folds are weighed.

    `prefix_changes` says that it does so anyway (a trim, a resume, a new run over a cold cache);
    `requests` are still expected; `ratio` is the price of a prompt token that is read anew over one
    that is read from the cache; the latest `protected` entries are left alone.
    """

    prefix_changes: bool
    requests: int = 0
    ratio: float = 10.0
    protected: int = 4


def due(events: Sequence[Event], window: Window, moment: Moment) -> tuple[Fold, ...]:
    """The folds to record now, of results that `window` shows; `events` is the log so far.

    All there are at a moment when the prefix changes anyway; else the latest ones, as many as save
    most after what they cost, or none. What the person brought back is left alone.
    """
    seen = {entry.seq for entry in window.entries} | window.elided
    told = [e for e in events if not isinstance(e, ToolResult | LlmResponse) or e.seq in seen]
    cut = {entry.seq for entry in window.entries if entry.state == "cut"}
    found = {fold.target: fold for fold in (*superseded_failures(told), *stale_reads(told, cut))}
    for event in events:
        if isinstance(event, WindowEdit) and event.action == "restore":
            found.pop(event.target, None)
    last = len(window.entries) - moment.protected
    saving = [
        (index, saved)
        for index, entry in enumerate(window.entries[: max(last, 0)])
        if entry.seq in found and (saved := _saved(entry, found[entry.seq])) > 0
    ]
    first = 0 if moment.prefix_changes else _first_worth(window, saving, moment)
    return tuple(found[window.entries[index].seq] for index, _ in saving[first:])


def worth(saved: int, behind: int, requests: int, ratio: float) -> bool:
    """Whether a fold saves more than the cache that it loses: `saved` cached tokens in each of
    `requests`, against `behind` tokens that are read anew once.
    """
    return gain(saved, behind, requests, ratio) > 0


def gain(saved: int, behind: int, requests: int, ratio: float) -> float:
    """What a fold saves in the end, in the price of a token that is read from the cache."""
    lost = behind * (ratio - 1) if behind else 0.0
    return saved * requests - lost


def stale_reads(events: Sequence[Event], cut: Collection[int] = ()) -> list[Fold]:
    """Reads of a file that was changed since, or read again over the same lines. A result in `cut`
    shows less than it read: it stands for no other lines than its own.
    """
    reads: list[_Read] = []
    found: dict[int, Fold] = {}
    for done in _done(events):
        if done.result.is_error:
            continue
        changed = set(_edited(done))
        again = _read(done)
        for read in reads:
            if read.ctx == done.result.ctx and read.path in changed:
                found[read.seq] = read.fold(f"the file was changed at seq {done.result.seq}")
            elif again and again.covers(read, whole=again.seq not in cut):
                found.setdefault(read.seq, read.fold(f"it was read again at seq {again.seq}"))
        reads = [read for read in reads if read.path not in changed or read.ctx != done.result.ctx]
        if again:
            reads.append(again)
    return [found[seq] for seq in sorted(found)]


def superseded_failures(events: Sequence[Event]) -> list[Fold]:
    """Failed attempts that a later identical call superseded, however that one ended."""
    failed: dict[tuple[int, str, bytes], _Done] = {}
    found: list[Fold] = []
    for done in _done(events):
        same = done.result.ctx, done.call.name, canonical(done.arguments)
        earlier = failed.pop(same, None)
        if earlier is not None:
            found.append(_superseded(earlier, done.result.seq))
        if done.result.is_error:
            failed[same] = done
    return found


def by_hand(call: Call, result: ToolResult) -> Fold:
    """The fold that the person asks for: what was asked, how much came back, and how to see it."""
    lines = result.text.count("\n") + 1
    size = f"{lines:,} lines" if lines > 1 else f"{len(result.text):,} characters"
    return Fold(
        result.seq,
        f"[folded by the person: {call.name} {_shortened(call)} gave {size};"
        f" {_history(result.seq)} shows them]",
        "by hand",
    )


@dataclass(frozen=True, slots=True)
class _Done:
    """A call and its result."""

    call: Call
    result: ToolResult

    @property
    def arguments(self) -> Mapping[str, Json]:
        read = read_arguments(self.call.arguments)
        return {"": self.call.arguments} if isinstance(read, Malformed) else read


@dataclass(frozen=True, slots=True)
class _Read:
    """A read of a file's lines, both ends included."""

    ctx: int
    seq: int
    shown: str
    path: str
    first: int
    last: int

    def covers(self, other: "_Read", *, whole: bool) -> bool:
        """Whether this read shows what `other` did; one that is not shown `whole` stands for the
        very same lines only.
        """
        if (self.ctx, self.path) != (other.ctx, other.path):
            return False
        if not whole:
            return (self.first, self.last) == (other.first, other.last)
        return self.first <= other.first and other.last <= self.last

    def fold(self, since: str) -> Fold:
        start = {} if self.first == 1 and self.last == END else {"start": self.first}
        end = {} if self.last == END else {"end": self.last}
        arguments = json.dumps({"path": self.shown, **start, **end}, ensure_ascii=False)
        return Fold(
            self.seq, f"[an earlier read: {since}; fs-read {arguments} shows it]", "stale read"
        )


def _done(events: Sequence[Event]) -> Iterator[_Done]:
    """Calls with their results, in the order of the results."""
    calls: dict[str, Call] = {}
    for event in events:
        if isinstance(event, LlmResponse):
            calls.update({call.id: call for call in pairs.kept_calls(event)})
        elif isinstance(event, ToolResult) and event.call_id in calls:
            yield _Done(calls[event.call_id], event)


def _read(done: _Done) -> _Read | None:
    path = done.arguments.get("path")
    if done.call.name != READ_TOOL or not isinstance(path, str):
        return None
    first, last = 1, END
    if header := RANGE_HEADER.match(done.result.text):
        first, last, lines = (int(number) for number in header.groups())
        last = END if last == lines else last
    return _Read(done.result.ctx, done.result.seq, path, _plain(path), first, last)


def _edited(done: _Done) -> Iterator[str]:
    """The files that a call changed."""
    if done.call.name not in EDIT_TOOLS:
        return
    edits = done.arguments.get("edits")
    for edit in (done.arguments, *(edits if isinstance(edits, list) else ())):
        path = edit.get("path") if isinstance(edit, Mapping) else None
        if isinstance(path, str):
            yield _plain(path)


def _plain(path: str) -> str:
    """A path without the detours that mean nothing (`./a//b` is `a/b`)."""
    root = "/" if path.startswith("/") else ""
    return root + "/".join(name for name in path.split("/") if name not in ("", "."))


def _superseded(failed: _Done, by: int) -> Fold:
    seq = failed.result.seq
    return Fold(
        seq,
        f"[a failed attempt: {failed.call.name} {_shortened(failed.call)} was made again at seq"
        f" {by}; {_history(seq)} shows how it failed]",
        "superseded failure",
    )


def _saved(entry: Entry, fold: Fold) -> int:
    """Tokens that a fold takes off every later request."""
    if not isinstance(entry.message, ToolRow) or entry.state not in ("in", "cut"):
        return 0
    row = replace(entry.message, parts=(Text(fold.text),))
    return entry.tokens - message_tokens(row)


def _shortened(call: Call) -> str:
    arguments = " ".join(call.arguments.split())
    if len(arguments) > SHOWN_ARGUMENTS:
        arguments = arguments[:SHOWN_ARGUMENTS] + "…"
    return arguments


def _history(seq: int) -> str:
    """The call that reads a result again."""
    return f'session_history {{"action": "read_item", "item": "i:{seq}"}}'


def _first_worth(window: Window, saving: Sequence[tuple[int, int]], moment: Moment) -> int:
    """From which fold on it pays most; the number of folds where none does."""
    ends = list(accumulate(entry.tokens for entry in window.entries))
    best, first, saved = 0.0, len(saving), 0
    for number in range(len(saving) - 1, -1, -1):
        index, own = saving[number]
        behind = ends[-1] - ends[index] - saved
        saved += own
        if (gained := gain(saved, behind, moment.requests, moment.ratio)) > best:
            best, first = gained, number
    return first
