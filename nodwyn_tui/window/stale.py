"""Which results went stale, followed event by event (ENG-21): a file read that a later edit or read
of the same file put out of date, and a failed attempt that a later identical call superseded.
"""

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from nodwyn_tui.domain.arguments import Malformed, read_arguments
from nodwyn_tui.domain.canonical import sha256
from nodwyn_tui.domain.events import (
    ContextOpen,
    Event,
    LlmRequest,
    LlmResponse,
    ResultFold,
    ToolResult,
    WindowEdit,
    WindowReset,
    WindowRewind,
)
from nodwyn_tui.domain.parts import Call
from nodwyn_tui.domain.request import Json
from nodwyn_tui.window import folds, pairs
from nodwyn_tui.window.cuts import RANGE_HEADER
from nodwyn_tui.window.folds import END, Fold
from nodwyn_tui.window.rows import READ_TOOL

EDIT_TOOLS = ("fs-edit", "fs-write", "fs-patch")

Key = tuple[int, str, str]
"""What makes a result stale: its context, `read` and the file, or the call's name and arguments."""


@dataclass(frozen=True, slots=True)
class _Reason:
    """Why a result is stale: the later result at `by`; `lasting` says that none is better, `whole`
    that it holds only while that one is shown whole.
    """

    by: int
    fold: Fold
    lasting: bool = False
    whole: bool = False


@dataclass(frozen=True, slots=True)
class _Shown:
    """A result that may go stale, and why it did, the best reason first; `lines` are a read's, both
    ends included.
    """

    seq: int
    key: Key
    call: Call
    path: str = ""
    lines: tuple[int, int] = (1, END)
    reasons: list[_Reason] = field(default_factory=list)

    def add(self, reason: _Reason) -> None:
        self.reasons.insert(0 if reason.lasting else len(self.reasons), reason)

    @property
    def is_settled(self) -> bool:
        """Whether no later result gives a better reason: a rewind that takes this one away takes
        the later ones too.
        """
        return any(reason.lasting for reason in self.reasons)

    @property
    def is_read_again(self) -> bool:
        """Whether a reason holds whatever becomes of the result behind it."""
        return any(not reason.whole for reason in self.reasons)


@dataclass(frozen=True, slots=True)
class _Done:
    """A call and its result."""

    call: Call
    result: ToolResult
    arguments: Mapping[str, Json]


class Stale:
    """Reads a session, and knows for each result that a window may show whether it is stale. What
    was folded, elided or brought back by the person it leaves alone from then on.
    """

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self._calls: dict[str, Call] = {}
        self._shown: dict[int, _Shown] = {}
        self._alike: dict[Key, dict[int, _Shown]] = defaultdict(dict)
        """Those that a later result may give a better reason, by seq."""
        self._again: dict[Key, dict[int, _Shown]] = defaultdict(dict)
        """Those of them for which only a change of the file is better."""
        for event in events:
            self.feed(event)

    def feed(self, event: Event) -> None:
        """Takes the next event of the log."""
        match event:
            case LlmResponse():
                self._calls.update({call.id: call for call in pairs.kept_calls(event)})
            case ToolResult() if (call := self._calls.pop(event.call_id, None)) is not None:
                self._done(_Done(call, event, _arguments(call)))
            case ResultFold():
                self._forget((event.target,))
            case WindowEdit(action="restore"):
                self._forget((event.target,))
            case LlmRequest():
                self._forget(event.elided)
            case WindowRewind():
                self._rewind(event.to)
            case WindowReset():
                self._forget([*self._shown])
            case ContextOpen(lasting=True):
                gone = [s for s, shown in self._shown.items() if shown.key[0] != event.parent]
                self._forget(gone)
            case _:
                pass

    def folds(self, cut: Collection[int] = ()) -> dict[int, Fold]:
        """The folds of stale results, by their seq. A result in `cut` shows less than it read: it
        stands for no other lines than its own.
        """
        found: dict[int, Fold] = {}
        for seq, shown in self._shown.items():
            good = (r for r in shown.reasons if not (r.whole and r.by in cut))
            if (reason := next(good, None)) is not None:
                found[seq] = reason.fold
        return found

    def _done(self, done: _Done) -> None:
        seq, ctx = done.result.seq, done.result.ctx
        same = ctx, done.call.name, _digest(done.arguments)
        for shown in self._take_all(same):
            fold = folds.superseded(shown.call, shown.seq, seq)
            shown.add(_Reason(seq, fold, lasting=True))
        if done.result.is_error:
            self._may_go_stale(_Shown(seq, same, done.call))
            return
        for path in _edited(done):
            for read in self._take_all((ctx, "read", _plain(path))):
                since = f"the file was changed at seq {seq}"
                read.add(_Reason(seq, _folded(read, since), lasting=True))
        if (again := _read(done)) is not None:
            for read in list(self._alike[again.key].values()):
                _supersede(read, again)
                self._place(read)
            self._may_go_stale(again)

    def _may_go_stale(self, shown: _Shown) -> None:
        self._shown[shown.seq] = shown
        self._place(shown)

    def _place(self, shown: _Shown) -> None:
        """Keeps it where later results look for it, if they may make a difference."""
        self._leave(shown)
        if not shown.is_settled:
            kept = self._again if shown.is_read_again else self._alike
            kept[shown.key][shown.seq] = shown

    def _leave(self, shown: _Shown) -> None:
        for kept in (self._alike, self._again):
            kept[shown.key].pop(shown.seq, None)

    def _take_all(self, key: Key) -> list[_Shown]:
        """All that are alike: nothing later gives a better reason than the one they get now."""
        return [*self._again.pop(key, {}).values(), *self._alike.pop(key, {}).values()]

    def _forget(self, seqs: Iterable[int]) -> None:
        for seq in seqs:
            if (shown := self._shown.pop(seq, None)) is not None:
                self._leave(shown)

    def _rewind(self, to: int) -> None:
        """What a rewind took out made nothing stale."""
        self._forget([seq for seq in self._shown if seq >= to])
        for shown in self._shown.values():
            shown.reasons[:] = [reason for reason in shown.reasons if reason.by < to]
            self._place(shown)


def _supersede(read: _Shown, again: _Shown) -> None:
    """Notes that `again` shows the lines of an earlier `read`."""
    same = again.lines == read.lines
    if same or (again.lines[0] <= read.lines[0] and read.lines[1] <= again.lines[1]):
        since = f"it was read again at seq {again.seq}"
        read.add(_Reason(again.seq, _folded(read, since), whole=not same))


def _folded(read: _Shown, since: str) -> Fold:
    return folds.stale_read(read.seq, read.path, *read.lines, since)


def _arguments(call: Call) -> Mapping[str, Json]:
    read = read_arguments(call.arguments)
    return {"": call.arguments} if isinstance(read, Malformed) else read


def _digest(arguments: Mapping[str, Json]) -> str:
    """The same for the same arguments in whatever order; ASCII, so that half a surrogate passes."""
    return sha256(json.dumps(arguments, sort_keys=True).encode())


def _read(done: _Done) -> _Shown | None:
    path = done.arguments.get("path")
    if done.call.name != READ_TOOL or not isinstance(path, str):
        return None
    lines = 1, END
    if header := RANGE_HEADER.match(done.result.text):
        first, last, count = (int(number) for number in header.groups())
        lines = first, END if last == count else last
    key = done.result.ctx, "read", _plain(path)
    return _Shown(done.result.seq, key, done.call, path, lines)


def _edited(done: _Done) -> Iterator[str]:
    """The files that a call changed."""
    if done.call.name not in EDIT_TOOLS:
        return
    edits = done.arguments.get("edits")
    several: Sequence[Json] = edits if isinstance(edits, list) else ()
    for edit in (done.arguments, *several):
        path = edit.get("path") if isinstance(edit, Mapping) else None
        if isinstance(path, str):
            yield path


def _plain(path: str) -> str:
    """A path without the detours that mean nothing (`./a//b` is `a/b`)."""
    root = "/" if path.startswith("/") else ""
    return root + "/".join(name for name in path.split("/") if name not in ("", "."))
