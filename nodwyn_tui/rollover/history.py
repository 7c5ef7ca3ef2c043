"""The earlier windows of a session, listed, searched and read back within fixed bounds (ROL-11).

The log's bytes are handed in, and an index. Without it, or with one that cannot tell, the same
items are found, over more calls.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from nodwyn_tui.domain.events import LlmRequest, ToolResult
from nodwyn_tui.errors import ToolError
from nodwyn_tui.rollover.cursor import Cursors, Place
from nodwyn_tui.rollover.items import Item, item_of
from nodwyn_tui.rollover.page import DATA, Page, body_room, within
from nodwyn_tui.rollover.reach import FAR, Reach, Window, number_in
from nodwyn_tui.rollover.scan import (
    Budget,
    Decode,
    Line,
    LogBytes,
    event_in,
    lines_from,
    offset_of,
)
from nodwyn_tui.rollover.search import Index, Search, Sought

_HEAD = 170
"""Bytes of a header with a cursor in it."""


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
        """The items in which the query stands, whatever its case."""
        first, behind = self.reach.span(window)
        subject = (query.lower(), window)
        search = Search(
            log=self.log,
            decode=self.decode,
            index=self.index,
            reach=self.reach,
            clean=self.clean,
            budget=self.budget,
            sought=Sought(query),
            first=first,
            behind=behind,
            page=Page(self.room, _HEAD),
            limit=limit,
        )
        if cursor:
            place = self.cursors.open(cursor, self.log, "search", subject)
        else:
            end = self.log.size if behind == FAR else self._offset_of(behind)
            place = search.beginning(end)
        stop = search.run(place)
        more = self.cursors.seal(stop, self.log, "search", subject) if stop else ""
        skipped = f"; skipped_oversized_rows: {self.budget.skipped}" if self.budget.skipped else ""
        header = f"[history: {len(search.page.lines)} found; exhausted: {_word(not more)}"
        return search.page.text(f"{header}{skipped}{_going_on(more)}]")

    def read_item(self, name: str, offset: int, limit: int) -> str:
        """A page of an item: its characters from `offset` on, so many at most."""
        seq = number_in(name, "i:")
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
        event = event_in(line.data, self.decode)
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
            event = event_in(line.data, self.decode)
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
