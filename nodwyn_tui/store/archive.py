"""A log as its readers see it (ENG-7): any event, any page, any request's events, what was said,
without reading the whole. Needs no lock. What it answers is what a full read would; the index only
makes it quick.
"""

import contextlib
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from nodwyn_tui.domain.events import Event, UnknownEvent
from nodwyn_tui.errors import StoreError
from nodwyn_tui.store.database import INDEX_NAME
from nodwyn_tui.store.folding import Fold, Folding
from nodwyn_tui.store.following import Placed
from nodwyn_tui.store.index import Index
from nodwyn_tui.store.places import LOG_NAME
from nodwyn_tui.store.position import Position
from nodwyn_tui.store.reading import LogReader, NotThere
from nodwyn_tui.store.scan import scan
from nodwyn_tui.store.tables import Row
from nodwyn_tui.store.words import Query, inner_expression, text_of

_ROWS, _BYTES = 500, 4 << 20
"""Events read at a time: so many, or so many bytes of them and one more."""
_LOOKED = 50
"""Events that a search reads at a time."""
_NEAR = 2 << 20
"""Bytes of the log that may be taken into the index for a question that can do without."""
_FAR = 2**63 - 1
_TRIES = 4

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Hit:
    """An event in which all that was searched for stands; `type` as in the log."""

    seq: int
    type: str
    snippet: str


class Archive:
    """The reading side of one log: that of a session's folder, or of a log of any name.

    Every method raises `StoreError` if the log can't be read. While a writer is at work, what it
    has under way is not there yet.
    """

    def __init__(
        self,
        place: Path,
        folding: Folding | None = None,
        opener: Callable[[], LogReader] | None = None,
    ) -> None:
        """With an `opener`, the log is read through what that gives."""
        log = place / LOG_NAME if place.is_dir() else place
        own = log.name == LOG_NAME and not log.is_symlink()
        self._path = log
        self._index = Index(log.with_name(INDEX_NAME) if own else None, folding)
        self.opener: Callable[[], LogReader] = opener or (lambda: LogReader.open(log))

    def catch_up(self) -> bool:
        """Takes in what was appended. Gives whether the log is sound; one that is not is mended
        when it is opened to write.
        """
        self._ask(lambda _: None, mind_breaks=False)
        return self.sound

    def keep_up(self) -> None:
        """Catches up if nothing is in the way; else somebody does later."""
        with contextlib.suppress(sqlite3.Error, StoreError, NotThere), self.opener() as log:
            self._index.catch_up(log, patient=False)

    @property
    def sound(self) -> bool:
        """Whether the log needs no mending, as of the last `catch_up`."""
        return self._index.known.sound

    @property
    def fold(self) -> Fold | None:
        """What the folding knows of all events, as of the last `catch_up`."""
        return self._index.fold

    @property
    def last_seq(self) -> int:
        """The seq of the last event, as of the last `catch_up`; 0 for none."""
        return self._index.known.last_seq

    @property
    def count(self) -> int:
        """How many events there are, as of the last `catch_up`."""
        return self._index.known.tally.count

    @property
    def position(self) -> Position:
        """Where the log stands, as of the last `catch_up`."""
        return self._index.known.tally.position

    def event(self, seq: int) -> Event | None:
        """The event at `seq`."""

        def read(log: LogReader) -> Event | None:
            rows = self._index.tables.lines(seq, seq, 1)
            return log.event(*rows[0]) if rows else None

        return self._ask(read, upto=seq)

    def events(self, first: int = 1, last: int | None = None) -> Iterator[Event]:
        """The events from `first` to `last`, or to the end, a few in memory at a time."""
        end = upto = _FAR if last is None else last
        while some := self._ask(self._some(first, end), upto=upto):
            yield from some
            first = upto = some[-1].seq + 1

    def from_start(self) -> tuple[Event, ...]:
        """The events that a later window may need, as the fold names them; all without a fold."""
        self._ask(lambda _: None)
        start, recipe = self.fold.start if self.fold is not None else (0, 0)
        return self._needed(start, recipe, self.last_seq)

    def needed(self, seq: int) -> tuple[Event, ...]:
        """The events that replaying the request at `seq` needs, with that one. Where `seq` is no
        request's, or no fold has told: all up to there.
        """
        start, recipe = self._ask(lambda _: self._index.tables.needs_of(seq))
        return self._needed(start, recipe, seq)

    def request_before(self, seq: int) -> int:
        """The seq of the conversation's latest request before the seq `seq`; 0 for none."""
        return self._ask(lambda _: self._index.tables.request_before(seq)) or 0

    def knows_call(self, call_id: str) -> bool:
        """Whether a call, or a result, bears this id."""
        return self._ask(lambda _: self._index.tables.call(call_id)) is not None

    def result_of(self, call_id: str) -> int | None:
        """The seq of a call's result, if it has one; of an id that was used again, the last's."""
        found = self._ask(lambda _: self._index.tables.call(call_id))
        return found[1] if found else None

    def page(self, before: int, count: int) -> tuple[int, int]:
        """The first and last seq of about `count` events that end before the seq `before`, and
        begin where no call of the conversation is open, or with the log, at 1. `(1, 0)` for none.
        """
        return self._ask(lambda _: self._index.tables.page(before, count))

    def page_after(self, after: int, count: int) -> tuple[int, int]:
        """The same behind the seq `after`: about `count` events, up to where no call is open."""
        return self._ask(lambda _: self._index.tables.page_after(after, count))

    def search(self, query: str, limit: int) -> list[Hit]:
        """The latest events, `limit` at most, in which each word of `query` stands, as it is but
        for its case; words are found by their beginning, and by that of a part of an identifier.
        """
        asked = Query.of(query)
        hits: list[Hit] = []
        before = _FAR
        while (
            asked.terms and len(hits) < limit and (some := self._ask(self._looked(asked, before)))
        ):
            before = some[-1][0]
            hits += [hit for _, hit in some if hit is not None]
        return hits[:limit]

    def likely(self, text: str, before: int, limit: int) -> Sequence[Row] | None:
        """The places of events before the seq `before` in which the index knows the words of a
        text, the latest first. `None` where no index can tell without reading much of the log
        first.
        """
        asked = Query.of(text).expression
        if not self._is_near():
            return None
        with contextlib.suppress(sqlite3.Error):
            tables = self._index.tables
            known = bool(asked) and tables.has_words
            return tables.found(asked, before, limit) if known else ()
        return None

    def others(self, text: str, before: int, limit: int) -> Sequence[Row] | None:
        """The places of the events that `likely` does not name though they may hold the text, the
        latest first: in the middle of a word, or where a call's output is not indexed whole.
        """
        if not self._is_near():
            return None
        with contextlib.suppress(sqlite3.Error):
            asked, inner = Query.of(text).expression, inner_expression(text)
            return self._index.tables.others(asked, inner, before, limit)
        return None

    def place(self, seq: int) -> int | None:
        """The byte at which the first event begins that has this seq or a later one; `None` where
        there is none, or no index can tell without reading much of the log first.
        """
        with contextlib.suppress(sqlite3.Error):
            rows = self._index.tables.lines(seq, _FAR, 1) if self._is_near() else ()
            return rows[0][1] if rows else None
        return None

    def _is_near(self) -> bool:
        """Brings the index up to date where that takes little; whether it is."""
        with contextlib.suppress(sqlite3.Error, StoreError, NotThere), self.opener() as log:
            self._index.look()
            behind = log.size - (self._index.known.end if self._index.fits(log) else 0)
            if behind <= _NEAR:
                self._index.catch_up(log, patient=False)
                return self._index.known.state == "whole"
        return False

    def close(self) -> None:
        """Gives the index up; again is harmless."""
        self._index.close()

    def _some(self, first: int, last: int) -> Callable[[LogReader], list[Event]]:
        def read(log: LogReader) -> list[Event]:
            events: list[Event] = []
            start = end = -1
            for seq, offset, length in self._index.tables.lines(first, last, _ROWS):
                if not events:
                    start = end = offset
                if offset - start > _BYTES:
                    break
                if offset != end and self._index.known.state == "whole":
                    log.must_be_blank(end, offset)  # else rows are missing
                events.append(log.event(seq, offset, length))
                end = offset + length
            return events

        return read

    def _needed(self, start: int, recipe: int, last: int) -> tuple[Event, ...]:
        alone = self.event(recipe) if 0 < recipe < start else None
        behind = self.events(start, last)
        return tuple(behind) if alone is None else (alone, *behind)

    def _looked(
        self, query: Query, before: int
    ) -> Callable[[LogReader], list[tuple[int, Hit | None]]]:
        """Looks through the next events that may hold what is searched for."""

        def look(log: LogReader) -> list[tuple[int, Hit | None]]:
            rows = self._index.tables.found(query.expression, before, _LOOKED)
            return [(row[0], _hit(log.event(*row), query)) for row in rows]

        return look

    def _ask(
        self,
        question: Callable[[LogReader], Answer],
        *,
        upto: int = _FAR,
        mind_breaks: bool = True,
    ) -> Answer:
        """Asks the index, which has then taken in the event `upto`, or all there are. What goes
        wrong with the index has it made anew.
        """
        with self.opener() as log:
            for _ in range(_TRIES):
                try:
                    self._ready(log, upto, mind_breaks=mind_breaks)
                    return question(log)
                except sqlite3.Error as error:
                    self._index.renew(error)
                except NotThere:
                    self._forget()
        raise StoreError(f"{self._path} changes while it is read. Try again.")

    def _ready(self, log: LogReader, upto: int, *, mind_breaks: bool) -> None:
        self._index.look()
        log.look()
        if upto > self._index.known.last_seq or not self._index.is_of(log):
            self._index.catch_up(log)
            if mind_breaks and self._index.known.state == "broken":
                self._index.take_scanned(log, _scanned(log))

    def _forget(self) -> None:
        try:
            self._index.forget()
        except sqlite3.Error as error:
            self._index.renew(error)


def title_in_index(log: Path) -> str:
    """The title that a session was given last, as far as an index of it knows without much reading;
    '' where there is none, or none that fits.
    """
    path = log.with_name(INDEX_NAME)
    if not path.is_file():
        return ""
    unknown = contextlib.suppress(sqlite3.Error, StoreError, NotThere)
    with unknown, contextlib.closing(Index(path, None)) as index, LogReader.open(log) as reader:
        index.look()
        if index.fits(reader):
            if reader.size - index.known.end <= _BYTES:
                index.catch_up(reader, patient=False)
            return index.known.tally.title
    return ""


def _scanned(log: LogReader) -> Iterator[Placed]:
    found = scan(log.whole())
    for event, (start, end) in zip(found.events, found.spans, strict=True):
        yield Placed(event, start, end - start)


def _hit(event: Event, query: Query) -> Hit | None:
    text = text_of(event)
    if not query.fits(text):
        return None
    kind = event.kind if isinstance(event, UnknownEvent) else event.type
    return Hit(event.seq, kind, query.snippet(text))
