"""What the transcript tells, in order: the opening, the entries, and the reply being written.

A fold of link events, with no widget in it; `viewport.py` decides which of it is seen.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import replace

from nodwyn_tui.link import events as up
from nodwyn_tui.link.images import ImagesWithheld, Why
from nodwyn_tui.ui.widgets.entries import View, can_open, estimate, lay_out
from nodwyn_tui.ui.widgets.entry_list import Edge, EntryList, Splice
from nodwyn_tui.ui.widgets.keys import Keys
from nodwyn_tui.ui.widgets.lines import BLANK, Line, Span, cut
from nodwyn_tui.ui.widgets.live import LiveReply
from nodwyn_tui.ui.widgets.questions import question_lines

_BODIES = 4_000_000
"""Characters of bodies kept; others are fetched again when they come into view."""

CLOSED: tuple[up.EntryKind, ...] = ("call", "thinking", "guidance", "divider")
"""Entries that show nothing of their body before they are opened."""

Opening = Callable[[int, Keys], list[Line]]


class Story:
    """Entry 0 is the opening; then come the session's entries, one of which can be the gap, then
    the live ones.
    """

    def __init__(self, opening: Opening) -> None:
        self.opening = opening
        self.keys = Keys()
        self.entries = EntryList()
        self.live = LiveReply()
        self.questions: dict[str, up.ApprovalAsked] = {}
        """Calls that wait, by entry id, in the order they asked."""
        self.armed = ""
        """The entry whose question the keys answer; '' if none are live."""
        self.answered: set[str] = set()
        """Calls whose answer is on its way to the worker: it is not given twice."""
        self.wanted: list[str] = []
        """Entries in view whose bodies have not been asked for."""
        self._bodies: OrderedDict[str, up.Body] = OrderedDict()
        self._size = 0
        self._asked: set[str] = set()
        self._opened: set[str] = set()
        self.is_late = False
        """A page for the gap takes long, and the gap says so."""
        self._outputs: dict[str, str] = {}
        self._withheld: dict[str, Why] = {}
        """Images that the next request goes without, by digest."""

    def __len__(self) -> int:
        return len(self.entries) + len(self.live)

    @property
    def settled(self) -> int:
        """How many are there without the live ones."""
        return len(self.entries)

    @property
    def is_new(self) -> bool:
        """Whether nothing has been told yet."""
        return len(self.entries) == 1

    @property
    def gap(self) -> int | None:
        """Where entries that were not told belong."""
        return self.entries.gap

    def estimate(self, index: int, width: int) -> int:
        if index == 0:
            return len(self.opening(width, self.keys))
        entry = self.entry_at(index)
        return estimate(entry, width) if entry else 2

    def lay_out(self, index: int, width: int) -> list[Line]:
        if index == 0:
            return self.opening(width, self.keys)
        if index == self.gap:
            return self._gap_lines(width)
        before, entry = self._before(index), self.entry_at(index)
        if entry is None:
            return self.live.lay_out(index - self.settled, before, width)
        asked = self.questions.get(entry.id)
        view = View(
            entry=entry,
            body=self.body(entry),
            before=before,
            is_open=entry.id in self._opened,
            output=self._outputs.get(entry.id, ""),
            withheld=self._withheld.get(_digest(entry)),
            again=self.keys.short("bring_back"),
            asking=(lambda room: self._question(entry.id, asked, room)) if asked else None,
        )
        return lay_out(view, width)

    def load(self, entries: Iterable[up.Entry], *, earlier: bool = False) -> None:
        """More entries at the end; with `earlier`, the first ones, behind a gap."""
        if earlier:
            self.entries.begin_with_gap()
        for entry in entries:
            self.entries.append(self._without_body(entry))

    def edge(self, *, above: bool) -> Edge | None:
        """A side of the gap, the one `above` it or below; `None` where there is no gap."""
        return None if self.gap is None else self.entries.edge(self.gap, above=above)

    def fill(self, page: up.PageLoaded) -> Splice | None:
        """Put a page into the gap; `None` if it does not fit there."""
        asked = Edge(page.before, page.after)
        if self.gap is None or asked not in (self.edge(above=True), self.edge(above=False)):
            return None
        self.is_late = False
        return self.entries.fill(self.gap, page, map(self._without_body, page.entries))

    def change(self, told: up.EntryChanged | up.StatesChanged | up.BodyLoaded) -> list[int]:
        """Entries as they are now; the indexes of those that look different."""
        match told:
            case up.EntryChanged(entry=entry):
                self._put(entry)
                ids: tuple[str, ...] = (entry.id,)
            case up.StatesChanged(ids=ids, state=state):
                for held in filter(None, map(self.entries.get, ids)):
                    self.entries.put(replace(held, state=state))
            case up.BodyLoaded(id=entry_id, body=body):
                self._keep_body(entry_id, body)
                ids = (entry_id,)
        return list(filter(None, map(self.entries.find, ids)))

    def withhold(self, told: ImagesWithheld) -> list[int]:
        """Which images are withheld now; the indexes of those that look different."""
        before = self._withheld
        self._withheld = {image.sha256: image.why for image in told.images}
        changed = {digest for digest, _ in before.items() ^ self._withheld.items()}
        held = map(self.entry_at, range(1, self.settled) if changed else ())
        return [n for n, entry in enumerate(held, 1) if entry and _digest(entry) in changed]

    def ask(self, told: up.ApprovalAsked | up.ApprovalClosed) -> int | None:
        """A call waits now, or no longer; the index of its entry."""
        self.answered.discard(told.call_id)
        if isinstance(told, up.ApprovalAsked):
            self.questions[told.entry_id] = told
            return self.index_of(told.entry_id)
        for entry_id, asked in self.questions.items():
            if asked.call_id == told.call_id:
                del self.questions[entry_id]
                return self.index_of(entry_id)
        return None

    @property
    def unanswered(self) -> dict[str, up.ApprovalAsked]:
        """The questions that still want an answer, as `questions`."""
        return {
            entry_id: asked
            for entry_id, asked in self.questions.items()
            if asked.call_id not in self.answered
        }

    def output(self, entry_id: str, line: str) -> int | None:
        """The latest line of a running call."""
        self._outputs[entry_id] = line
        return self.index_of(entry_id)

    def index_of(self, entry_id: str) -> int | None:
        """Where an entry stands."""
        return self.entries.find(entry_id)

    def entry_at(self, index: int) -> up.Entry | None:
        """The entry at an index; `None` for the opening, the gap and the live ones."""
        return self.entries[index] if 0 < index < self.settled else None

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
        needed = entry.id in self._opened or entry.kind not in CLOSED
        if needed and entry.id not in self._asked:
            self._asked.add(entry.id)
            self.wanted.append(entry.id)
        return None

    def _put(self, entry: up.Entry) -> None:
        if self.entries.get(entry.id) is not None:
            self.entries.put(self._without_body(entry))
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

    def _gap_lines(self, width: int) -> list[Line]:
        text = "⋯ earlier entries" if self.gap == 1 else "⋯ entries in between"
        text += " · loading…" if self.is_late else ""
        return [BLANK, Line(cut([Span(text, "dim")], width))]

    def _before(self, index: int) -> up.EntryKind:
        above = self.entry_at(index - 1)
        if above is not None:
            return above.kind
        return "divider" if index <= self.settled else self.live.kind(index - 1 - self.settled)

    def _question(self, entry_id: str, asked: up.ApprovalAsked, width: int) -> Iterable[Line]:
        place = (list(self.questions).index(entry_id) + 1, len(self.questions))
        return question_lines(
            asked,
            width,
            whole=entry_id in self._opened,
            place=place,
            armed=entry_id == self.armed,
            keys=self.keys,
        )


def _digest(entry: up.Entry) -> str:
    """Of an image's entry; its file is named so."""
    return entry.picture.replace("\\", "/").rpartition("/")[2]


def _size(body: up.Body | None) -> int:
    return len(body.text) + len(body.arguments) + len(body.diff) if body else 0
