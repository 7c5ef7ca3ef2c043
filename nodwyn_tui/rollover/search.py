"""A search of a session's log, within what a call may scan (ROL-11): first the rows in which the
index knows the words, then those that it cannot rule out; without an index, every row. In each the
latest comes first.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from nodwyn_tui.domain.events import Event
from nodwyn_tui.rollover.cursor import Place
from nodwyn_tui.rollover.items import found_in
from nodwyn_tui.rollover.page import Page
from nodwyn_tui.rollover.reach import Reach
from nodwyn_tui.rollover.scan import (
    MOST_OF_A_ROW,
    Backwards,
    Budget,
    Decode,
    LogBytes,
    SpentError,
    Spot,
    event_in,
)

SNIPPET, BEFORE = 240, 60
"""Characters that are shown of a row that was found, and how many of them before the match."""
_CANDIDATES = 50
_LIKELY, _OTHERS, _ALL = 1, 2, 4
"""Phases: what the index knows the words in, what else it thinks possible; every row."""
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


class Sought:
    """What is searched for, literally."""

    def __init__(self, query: str) -> None:
        self.query = query
        self._small = query.lower() if query.isascii() else ""
        self._pattern = re.compile(re.escape(query), re.IGNORECASE)

    def within(self, text: str) -> int:
        """Where the query first stands in a text, whatever its case (characters); -1 for none."""
        if self._small and text.isascii():  # the same, and twenty times as fast
            return text.lower().find(self._small)
        match = self._pattern.search(text)
        return match.start() if match else -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """Looks for `sought` in the rows from `first` to before `behind` (seqs), and puts what it finds
    on `page`, `limit` hits at most.
    """

    log: LogBytes
    decode: Decode
    index: Index
    reach: Reach
    clean: Callable[[str], str]
    budget: Budget
    sought: Sought
    first: int
    behind: int
    page: Page
    limit: int

    def beginning(self, end: int) -> Place:
        """Where a search begins; `end` is the byte behind the last row that counts."""
        return Place(phase=_LIKELY, seq=self.behind, at=end, end=end)

    def run(self, place: Place) -> Place | None:
        """Searches from a place on. Gives where it goes on; `None` once all was looked at."""
        stop: Place | None = place
        for phase, names in ((_LIKELY, self.index.likely), (_OTHERS, self.index.others)):
            if stop is not None and stop.phase == phase:
                stop = self._search_named(stop, names)
        return self._search_all(stop) if stop is not None and stop.phase & _ALL else stop

    def _search_named(self, stop: Place, names: Names) -> Place | None:
        """Looks at the rows that the index names from a place on. Gives where it goes on: in this
        phase or the next one, or with every row where there is no index any more.
        """
        while rows := names(self.sought.query, stop.seq, _CANDIDATES):
            for row in rows:
                if row[0] < self.first:
                    break
                if row[1] < stop.end and not self._dealt_with(row):
                    return replace(stop, seq=row[0] + 1)
                stop = replace(stop, seq=row[0])
            else:
                continue
            break
        if rows is None:
            return Place(phase=_ALL, at=stop.end, end=stop.end)
        return replace(stop, phase=_OTHERS, seq=self.behind) if stop.phase == _LIKELY else None

    def _dealt_with(self, row: Row) -> bool:
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
        event = event_in(data, self.decode)
        line = self._hit(event) if event and event.seq == seq else None
        if line is not None and self._is_full(line):
            return False
        self.budget.rows_left -= 1
        return True

    def _search_all(self, place: Place) -> Place | None:
        """Looks at every row from a place on. Gives where it goes on."""
        spot = Spot(place.at, inside=bool(place.phase & _INSIDE))
        rows = Backwards(self.log, spot, self.budget)
        for line in rows:
            event = event_in(line.data, self.decode)
            if event is not None and event.seq < self.first:
                return None
            hit = None if event is None else self._hit(event)
            if hit is not None and self._is_full(hit):
                break
            spot = rows.spot
        else:
            spot = rows.spot
        phase = _ALL | (_INSIDE if spot.inside else 0)
        return replace(place, phase=phase, at=spot.at) if spot.at else None

    def _is_full(self, line: str) -> bool:
        """Takes a hit in, if there is room for it."""
        return len(self.page.lines) >= self.limit or not self.page.add(line)

    def _hit(self, event: Event) -> str | None:
        """What is told of a row in which the query stands."""
        if not self.reach.allows(event.seq) or self.reach.foreign(event.ctx):
            return None
        if (item := found_in(event)) is None:
            return None
        text = self.clean(item.text)
        at = self.sought.within(text)
        if at < 0:
            return None
        start = max(at - BEFORE, 0)
        shown = " ".join(text[start : start + SNIPPET].split())
        before, behind = "…" if start else "", "…" if start + SNIPPET < len(text) else ""
        where = f"i:{event.seq} {item.kind}, character {at} of {len(text)}"
        return f"{where}: {before}{shown}{behind}"
