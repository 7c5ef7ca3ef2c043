"""The entries of a story that are here, in the log's order, with a gap where others were not told:
pages of those come in at its two sides until nothing is left of it.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from nodwyn_tui.link.events import Entry, EntryKind, PageLoaded

MOST = 4_000
"""With more entries than this, all but the latest `FEWER` can be let go."""
FEWER = 2_000
_BEGINNINGS: tuple[EntryKind, ...] = ("user", "thinking", "assistant")
"""A reply, or what the person said, stands where every call has its result."""


class Edge(NamedTuple):
    """A side of the gap, as a page is asked for there: one that ends before log line `before`, or,
    where that is 0, one that begins behind line `after`.
    """

    before: int
    after: int


class Splice(NamedTuple):
    """From index `at` on, `added` entries stand in the place of `removed` ones."""

    at: int
    removed: int
    added: int


class EntryList:
    """Entries by index and by id. Index 0 is the opening's, which is no entry; nor is the gap."""

    def __init__(self) -> None:
        self.gap: int | None = None
        """Where the gap stands."""
        self._items: list[Entry | None] = [None]
        self._places: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, index: int) -> Entry | None:
        return self._items[index]

    def __reversed__(self) -> Iterator[Entry]:
        """Entries alone, the latest first."""
        return (entry for entry in reversed(self._items) if entry is not None)

    def find(self, entry_id: str) -> int | None:
        """Where an entry stands, if it is here."""
        return self._places.get(entry_id)

    def get(self, entry_id: str) -> Entry | None:
        """An entry, if it is here."""
        return self._items[self._places.get(entry_id, 0)]

    def begin_with_gap(self) -> None:
        """There are entries before those that come."""
        if self.gap is None and len(self._items) == 1:
            self.gap = 1
            self._items.append(None)

    def append(self, entry: Entry) -> None:
        """One more entry at the end."""
        self._places[entry.id] = len(self._items)
        self._items.append(entry)

    def put(self, entry: Entry) -> None:
        """An entry that is here, as it is now."""
        self._items[self._places[entry.id]] = entry

    def edge(self, gap: int, *, above: bool) -> Edge:
        """A side of the gap: the one `above` it, or below. Below it, nothing can be asked from an
        entry that is on no disk yet.
        """
        first = self._items[gap - 1]
        after = self._items[gap + 1] if gap + 1 < len(self._items) else None
        if not above and after is not None and after.seq:
            return Edge(after.seq, 0)
        return Edge(0, first.seq if first else 0)

    def fill(self, gap: int, page: PageLoaded, entries: Iterable[Entry]) -> Splice:
        """A page that belongs to a side of the gap; `entries` is what it holds. The gap is gone
        when nothing is left of it: the page says so, or holds what is here already.
        """
        fresh = [entry for entry in entries if entry.id not in self._places]
        if not page.more or len(fresh) < len(page.entries):
            change = Splice(gap, 1, len(fresh))
            self.gap = None
        elif page.before:
            change = Splice(gap + 1, 0, len(fresh))
        else:
            change = Splice(gap, 0, len(fresh))
            self.gap = gap + len(fresh)
        self._splice(change, fresh)
        return change

    def let_go(self) -> Splice | None:
        """Let the earlier of very many entries go: into the gap, to be asked for again."""
        if len(self._items) <= MOST:
            return None
        first = max(len(self._items) - FEWER, (self.gap or 0) + 1)
        while first < len(self._items) and not self._can_begin(first):
            first += 1
        if first == len(self._items):
            return None
        change = Splice(1, first - 1, 1)
        self.gap = 1
        self._splice(change, [None])
        return change

    def _can_begin(self, index: int) -> bool:
        """Whether a page can end before an entry: it is on disk, the first of its log line, and no
        call before it waits for a result behind it.
        """
        entry, above = self._items[index], self._items[index - 1]
        if entry is None or not entry.seq or entry.kind not in _BEGINNINGS:
            return False
        return above is None or above.seq != entry.seq

    def _splice(self, change: Splice, items: Iterable[Entry | None]) -> None:
        self._items[change.at : change.at + change.removed] = items
        self._places = {entry.id: at for at, entry in enumerate(self._items) if entry}
