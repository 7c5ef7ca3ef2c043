"""The earlier windows of a session, listed, searched and read back within fixed bounds (ROL-11).

The log's bytes are handed in, and an index. Without it, or with one that cannot tell, the same
items are found, over more calls.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from nodwyn_tui.domain.events import Event, LlmRequest, ToolResult
from nodwyn_tui.errors import ToolError
from nodwyn_tui.rollover.cursor import Cursors, Place
from nodwyn_tui.rollover.items import Item, found_in, item_of
from nodwyn_tui.rollover.page import DATA, Page, body_room, within
from nodwyn_tui.rollover.scan import (
    MOST_OF_A_ROW,
    Backwards,
    Budget,
    Decode,
    Line,
    LogBytes,
    SpentError,
    Spot,
    lines_from,
    offset_of,
)

ROOT = "w:0"
LONGEST_SEQ = 16
"""Digits."""
FAR = 2**62
SNIPPET, BEFORE = 240, 60
"""Characters that are shown of a row that was found, and how many of them before the match."""
_CANDIDATES = 50
_HEAD = 170
"""Bytes of a header with a cursor in it."""
_LIKELY, _OTHERS, _ALL = 1, 2, 4
"""Phases of a search: what the index knows the words in, then what else it thinks possible; or
without an index, every row.
"""
_INSIDE = 8
"""Beside the phase: the scan stands within an over-long row."""

Row = tuple[int, int, int]
"""A seq, and the offset and length of its line."""
Names = Callable[[str, int, int], Sequence[Row] | None]
"""Of rows before a seq, the latest that may hold a query, so many at most; `None` where no index
can tell without much reading.
"""


class Index(Protocol):
    """What is known of where things stand in the log. `likely` and `others` name all rows that can
    hold a query, each once; `place` is the byte at which the first event from a seq on begins,
    `None` where that is not known.
    """

    def likely(self, text: str, before: int, limit: int) -> Sequence[Row] | None: ...

    def others(self, text: str, before: int, limit: int) -> Sequence[Row] | None: ...

    def place(self, seq: int) -> int | None: ...


@dataclass(frozen=True, slots=True)
class Window:
    """A window that began at the event `seq` (0: the session's first): of what `kind`, when (UTC),
    and how the first thing that the person said in it begins.
    """

    seq: int
    kind: str
    at: str
    first: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """What of a log may be read: nothing up to the event `floor`, nothing in `gone` (spans of seqs
    that a rewind took back), nothing of the contexts of others, which `foreign` tells. `windows`
    are those above the floor, the first one first.
    """

    windows: Sequence[Window]
    floor: int = 0
    gone: Sequence[tuple[int, int]] = ()
    foreign: Callable[[int], bool] = lambda _ctx: False

    def allows(self, seq: int) -> bool:
        """Whether an event may be shown."""
        return seq > self.floor and not any(first <= seq < last for first, last in self.gone)

    def span(self, window: str) -> tuple[int, int]:
        """The first seq of a window, and the first one behind it; '' for all. `ToolError` for a
        window that there is not.
        """
        if not window:
            return self.floor + 1, FAR
        starts = [each.seq for each in self.windows]
        number = _number(window, "w:")
        if number is None or number not in starts:
            raise ToolError(f"there is no window {window!r}; list_windows names them")
        at = starts.index(number)
        behind = starts[at + 1] if at + 1 < len(starts) else FAR
        return max(number, self.floor + 1), behind


class _Sought:
    """What is searched for, and the first seq that counts."""

    def __init__(self, query: str, first: int) -> None:
        self.query, self.first = query, first
        self._small = query.lower() if query.isascii() else ""
        self._pattern = re.compile(re.escape(query), re.IGNORECASE)

    def within(self, text: str) -> int:
        """Where the query first stands in a text, whatever its case (characters); -1 for none."""
        if self._small and text.isascii():  # the same, and twenty times as fast
            return text.lower().find(self._small)
        match = self._pattern.search(text)
        return match.start() if match else -1


@dataclass(slots=True, kw_only=True)
class _Found:
    """What a search has so far; `stop` is where it goes on, `None` once all was looked at."""

    page: Page
    limit: int
    stop: Place | None = None

    def full(self, line: str) -> bool:
        """Takes a hit in, if there is room for it."""
        return len(self.page.lines) >= self.limit or not self.page.add(line)


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """One session's log at one moment. `room` is how many bytes of JSON an answer may have;
    `clean` takes control codes out of a text.

    Every answer is whole as it is given; `ToolError` says what to ask for instead.
    """

    log: LogBytes
    decode: Decode
    index: Index
    reach: Reach
    cursors: Cursors
    clean: Callable[[str], str]
    room: int
    budget: Budget = field(default_factory=Budget)

    def list_windows(self, cursor: str, limit: int) -> str:
        """The windows that can be looked into, the latest first."""
        before = FAR
        if cursor:
            before = self.cursors.open(cursor, self.log, "list_windows").seq
        page = Page(self.room, _HEAD)
        more = ""
        for window, last in self._windows_before(before):
            if len(page.lines) >= limit or not page.add(_listed(window, last, self.clean)):
                place = Place(seq=before, end=self.log.size)
                more = self.cursors.seal(place, self.log, "list_windows")
                break
            before = window.seq
        header = f"[history: {len(self.reach.windows)} windows, the latest first"
        return page.text(f"{header}; exhausted: {_word(not more)}{_going_on(more)}]")

    def _windows_before(self, before: int) -> Iterator[tuple[Window, int | None]]:
        """Windows, each with the seq that the next one begins at."""
        last: int | None = None
        for window in reversed(self.reach.windows):
            if window.seq < before:
                yield window, last
            last = window.seq

    def search(self, query: str, window: str, cursor: str, limit: int) -> str:
        """The items in which the query stands, whatever its case: those that the index names, then
        the others, both the latest first; without an index all in one order.
        """
        first, behind = self.reach.span(window)
        subject = (query.lower(), window)
        if cursor:
            place = self.cursors.open(cursor, self.log, "search", subject)
        else:
            end = self.log.size if behind == FAR else self._offset_of(behind)
            place = Place(phase=_LIKELY, seq=FAR, at=end, end=end)
        found = _Found(page=Page(self.room, _HEAD), limit=limit, stop=place)
        sought = _Sought(query, first)
        if place.phase == _LIKELY:
            self._search_named(sought, self.index.likely, found)
        if found.stop is not None and found.stop.phase == _OTHERS:
            self._search_named(sought, self.index.others, found)
        if found.stop is not None and found.stop.phase & _ALL:
            self._search_all(sought, found)
        more = ""
        if found.stop is not None:
            more = self.cursors.seal(found.stop, self.log, "search", subject)
        skipped = f"; skipped_oversized_rows: {self.budget.skipped}" if self.budget.skipped else ""
        header = f"[history: {len(found.page.lines)} found; exhausted: {_word(not more)}"
        return found.page.text(f"{header}{skipped}{_going_on(more)}]")

    def _search_named(self, sought: _Sought, names: Names, found: _Found) -> None:
        """Looks at the rows that the index names. Leaves the next phase in `found`; the same one
        where it is to go on there; every row where there is no index any more.
        """
        stop = found.stop
        assert stop is not None, "it is asked where to begin"
        while rows := names(sought.query, stop.seq, _CANDIDATES):
            for row in rows:
                if row[0] < sought.first:
                    break
                found.stop = replace(stop, seq=row[0] + 1)
                if row[1] < stop.end and not self._dealt_with(sought, row, found):
                    return
                stop = replace(stop, seq=row[0])
            else:
                continue
            break
        if rows is None:
            found.stop = Place(phase=_ALL, at=stop.end, end=stop.end)
        elif stop.phase == _LIKELY:
            found.stop = replace(stop, phase=_OTHERS, seq=FAR)
        else:
            found.stop = None

    def _dealt_with(self, sought: _Sought, row: Row, found: _Found) -> bool:
        """Whether a row that the index names was looked at, within the budget and the page."""
        seq, offset, length = row
        if not self.budget.rows_left:
            return False
        if length > MOST_OF_A_ROW + 1:
            self.budget.rows_left -= 1
            self.budget.skipped += 1
            return True
        try:
            data = self.budget.read(self.log, offset, length)
        except SpentError:
            return False
        event = self._event(data)
        line = self._hit(event, sought) if event and event.seq == seq else None
        if line is not None and found.full(line):
            return False
        self.budget.rows_left -= 1
        return True

    def _search_all(self, sought: _Sought, found: _Found) -> None:
        """Looks at every row."""
        place = found.stop
        assert place is not None, "it is asked where to begin"
        spot = Spot(place.at, inside=bool(place.phase & _INSIDE))
        rows = Backwards(self.log, spot, self.budget)
        for line in rows:
            event = self._event(line.data)
            if event is not None and event.seq < sought.first:
                found.stop = None
                return
            hit = None if event is None else self._hit(event, sought)
            if hit is not None and found.full(hit):
                break
            spot = rows.spot
        else:
            spot = rows.spot
        phase = _ALL | (_INSIDE if spot.inside else 0)
        found.stop = replace(place, phase=phase, at=spot.at) if spot.at else None

    def _hit(self, event: Event, sought: _Sought) -> str | None:
        """What is told of a row in which the query stands."""
        if not self.reach.allows(event.seq) or self.reach.foreign(event.ctx):
            return None
        if (item := found_in(event)) is None:
            return None
        text = self.clean(item.text)
        at = sought.within(text)
        if at < 0:
            return None
        start = max(at - BEFORE, 0)
        shown = " ".join(text[start : start + SNIPPET].split())
        before, behind = "…" if start else "", "…" if start + SNIPPET < len(text) else ""
        where = f"i:{event.seq} {item.kind}, character {at} of {len(text)}"
        return f"{where}: {before}{shown}{behind}"

    def read_item(self, name: str, offset: int, limit: int) -> str:
        """A page of an item: its characters from `offset` on, so many at most."""
        seq = _number(name, "i:")
        found = None if seq is None or not self.reach.allows(seq) else self._item(seq)
        if found is None:
            raise ToolError(
                f"there is no item {name!r}: items are i:N, as search names them, with the N of"
                " [elided seq=N] or of a cut result's marker"
            )
        item, results = found
        text = self.clean(item.text)
        if offset and offset >= len(text):
            raise ToolError(
                f"item {name} has {len(text):,} characters; offset {offset:,} is behind"
            )
        longest = self._header(name, item, results, (offset, len(text), len(text) + 1))
        room = body_room(self.room, longest)
        piece = within(text[offset : offset + limit], room) or text[offset : offset + 1]
        header = self._header(name, item, results, (offset, offset + len(piece), len(text)))
        return f"{header}\n{DATA}\n{piece}"

    def _header(
        self, name: str, item: Item, results: Sequence[int], span: tuple[int, int, int]
    ) -> str:
        start, end, length = span
        given = f"; result: {', '.join(f'i:{seq}' for seq in results)}" if results else ""
        more = f"; offset {end} shows more" if end < length else ""
        kind = self.clean(item.kind)
        return f"[history item {name}, {kind}, characters {start}-{end} of {length}{more}{given}]"

    def _item(self, seq: int) -> tuple[Item, Sequence[int]] | None:
        """An item, and for a reply the results of its calls."""
        start = self._offset_of(seq)
        rows = lines_from(start, self.log, self.budget)
        line = next(rows, None)
        if line is None and start < self.log.size:
            raise ToolError(f"item i:{seq} is too long to be read back in one call")
        if line is None:
            return None
        event = self._event(line.data)
        if event is None or event.seq != seq or (item := item_of(event)) is None:
            return None
        if self.reach.foreign(event.ctx):
            return None
        return item, self._results(item.calls, rows) if item.calls else ()

    def _results(self, calls: Sequence[str], rows: Iterator[Line]) -> Sequence[int]:
        """The seqs of the results of calls, in the calls' order, as far as they were found before
        the next request.
        """
        found: dict[str, int] = {}
        for line in rows:
            event = self._event(line.data)
            if isinstance(event, LlmRequest):
                break
            if isinstance(event, ToolResult) and event.call_id in calls:
                found[event.call_id] = event.seq
                if len(found) == len(calls):
                    break
        return [found[call] for call in calls if call in found]

    def _offset_of(self, seq: int) -> int:
        """The byte at which the first row from a seq on begins."""
        known = self.index.place(seq)
        return offset_of(seq, self.log, self.decode, self.budget) if known is None else known

    def _event(self, data: bytes) -> Event | None:
        """A line's event; `None` for what is none."""
        try:
            return self.decode(data)
        except ValueError:
            return None


def _number(name: str, prefix: str) -> int | None:
    """The seq in a name; `None` for what is no such name."""
    number = name.removeprefix(prefix)
    known = number.isascii() and number.isdigit() and len(number) <= LONGEST_SEQ
    return int(number) if known and name.startswith(prefix) else None


def _listed(window: Window, last: int | None, clean: Callable[[str], str]) -> str:
    items = (
        f"items i:{window.seq + 1} to i:{last - 1}" if last else f"items from i:{window.seq + 1}"
    )
    now = " (now)" if last is None else ""
    said = " ".join(clean(window.first).split())
    first = f", begins: {said}" if said else ""
    return f"w:{window.seq}{now} {window.kind} {window.at[:16]}, {items}{first}"


def _word(value: bool) -> str:
    return "true" if value else "false"


def _going_on(cursor: str) -> str:
    return f'; cursor "{cursor}" goes on' if cursor else ""
