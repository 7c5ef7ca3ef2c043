"""What the transcript tells, in order: the opening, the entries, and the reply being written.

A fold of link events, with no widget in it; `viewport.py` decides which of it is seen.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import replace

from nodwyn_tui.link import events as up
from nodwyn_tui.ui.widgets.entries import View, can_open, estimate, lay_out
from nodwyn_tui.ui.widgets.lines import Line
from nodwyn_tui.ui.widgets.live import LiveReply
from nodwyn_tui.ui.widgets.questions import question_lines

_BODIES = 4_000_000
"""Characters of bodies kept; others are fetched again when they come into view."""

Opening = Callable[[int], list[Line]]


class Story:
    """Entry 0 is the opening; then come the session's entries, then the live ones."""

    def __init__(self, opening: Opening) -> None:
        self.opening = opening
        self.entries: list[up.Entry] = []
        self.live = LiveReply()
        self.questions: dict[str, up.ApprovalAsked] = {}
        """Calls that wait, by entry id, in the order they asked."""
        self.armed = ""
        """The entry whose question the keys answer; '' if none are live."""
        self.wanted: list[str] = []
        """Entries in view whose bodies have not been asked for."""
        self._index: dict[str, int] = {}
        self._bodies: OrderedDict[str, up.Body] = OrderedDict()
        self._size = 0
        self._asked: set[str] = set()
        self._opened: set[str] = set()
        self._outputs: dict[str, str] = {}

    def __len__(self) -> int:
        return 1 + len(self.entries) + len(self.live)

    @property
    def settled(self) -> int:
        """How many are there without the live ones."""
        return 1 + len(self.entries)

    @property
    def is_new(self) -> bool:
        """Whether nothing has been told yet."""
        return not self.entries

    def estimate(self, index: int, width: int) -> int:
        if index == 0:
            return len(self.opening(width))
        if index < self.settled:
            return estimate(self.entries[index - 1], width)
        return 2

    def lay_out(self, index: int, width: int) -> list[Line]:
        if index == 0:
            return self.opening(width)
        before = self._before(index)
        if index >= self.settled:
            return self.live.lay_out(index - self.settled, before, width)
        entry = self.entries[index - 1]
        asked = self.questions.get(entry.id)
        view = View(
            entry=entry,
            body=self.body(entry),
            before=before,
            is_open=entry.id in self._opened,
            output=self._outputs.get(entry.id, ""),
            asking=(lambda room: self._question(entry.id, asked, room)) if asked else None,
        )
        return lay_out(view, width)

    def load(self, entries: Iterable[up.Entry]) -> None:
        """More entries at the end."""
        for entry in entries:
            self._index[entry.id] = len(self.entries)
            self.entries.append(self._without_body(entry))

    def change(self, told: up.EntryChanged | up.StatesChanged | up.BodyLoaded) -> list[int]:
        """Entries as they are now; the indexes of those that look different."""
        match told:
            case up.EntryChanged(entry=entry):
                self._put(entry)
                ids: tuple[str, ...] = (entry.id,)
            case up.StatesChanged(ids=ids, state=state):
                for entry_id in ids:
                    if (at := self._index.get(entry_id)) is not None:
                        self.entries[at] = replace(self.entries[at], state=state)
            case up.BodyLoaded(id=entry_id, body=body):
                self._keep_body(entry_id, body)
                ids = (entry_id,)
        return [self._index[entry_id] + 1 for entry_id in ids if entry_id in self._index]

    def ask(self, told: up.ApprovalAsked | up.ApprovalClosed) -> int | None:
        """A call waits now, or no longer; the index of its entry."""
        if isinstance(told, up.ApprovalAsked):
            self.questions[told.entry_id] = told
            return self.index_of(told.entry_id)
        for entry_id, asked in self.questions.items():
            if asked.call_id == told.call_id:
                del self.questions[entry_id]
                return self.index_of(entry_id)
        return None

    def output(self, entry_id: str, line: str) -> int | None:
        """The latest line of a running call."""
        self._outputs[entry_id] = line
        return self.index_of(entry_id)

    def index_of(self, entry_id: str) -> int | None:
        """Where an entry stands."""
        at = self._index.get(entry_id)
        return None if at is None else at + 1

    def entry_at(self, index: int) -> up.Entry | None:
        """The entry at an index; `None` for the opening and the live ones."""
        return self.entries[index - 1] if 0 < index < self.settled else None

    def toggle(self, index: int) -> bool:
        """Open an entry or close it again; whether it can be."""
        entry = self.entry_at(index)
        if entry is None or not can_open(entry):
            return False
        self._opened ^= {entry.id}
        return True

    def body(self, entry: up.Entry) -> up.Body | None:
        """An entry's body; if it has to be fetched, `None` until it is here."""
        body = self._bodies.get(entry.id)
        if body is not None:
            self._bodies.move_to_end(entry.id)
            return body
        if entry.kind != "call" and entry.size <= len(entry.preview):
            return up.Body(text=entry.preview)
        needed = entry.id in self._opened or entry.kind not in ("call", "thinking", "divider")
        if needed and entry.id not in self._asked:
            self._asked.add(entry.id)
            self.wanted.append(entry.id)
        return None

    def _put(self, entry: up.Entry) -> None:
        at = self._index.get(entry.id)
        if at is not None:
            self.entries[at] = self._without_body(entry)
            if entry.status not in ("running", "waiting"):
                self._outputs.pop(entry.id, None)

    def _keep_body(self, entry_id: str, body: up.Body) -> None:
        self._asked.discard(entry_id)
        self._size += _size(body) - _size(self._bodies.pop(entry_id, None))
        self._bodies[entry_id] = body
        while self._size > _BODIES and len(self._bodies) > 1:
            self._size -= _size(self._bodies.popitem(last=False)[1])

    def _without_body(self, entry: up.Entry) -> up.Entry:
        if entry.body is None:
            return entry
        self._keep_body(entry.id, entry.body)
        return replace(entry, body=None)

    def _before(self, index: int) -> up.EntryKind:
        above = self.entry_at(index - 1)
        if above is not None:
            return above.kind
        return "divider" if index <= self.settled else self.live.kind(index - 1 - self.settled)

    def _question(self, entry_id: str, asked: up.ApprovalAsked, width: int) -> Iterable[Line]:
        place = (list(self.questions).index(entry_id) + 1, len(self.questions))
        return question_lines(
            asked, width, whole=entry_id in self._opened, place=place, armed=entry_id == self.armed
        )


def _size(body: up.Body | None) -> int:
    return len(body.text) + len(body.arguments) + len(body.diff) if body else 0
