"""The index of a log (ENG-7): where each event stands and what a reader asks of all of them, in
SQLite beside it. It follows from the log's bytes alone and is made anew whenever it does not fit
them; what it is asked goes through `archive.py`.
"""

import contextlib
import functools
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Literal, TypeVar

from pydantic import TypeAdapter, ValidationError

from nodwyn_tui.domain.events import Event, LlmRequest, SessionTitle
from nodwyn_tui.domain.request import Json
from nodwyn_tui.store import database
from nodwyn_tui.store.folding import Folding
from nodwyn_tui.store.following import Broken, Follower, Gaps, Placed
from nodwyn_tui.store.position import Position
from nodwyn_tui.store.reading import LogReader, NotThere
from nodwyn_tui.store.tables import Tables

VERSION = 2
"""Changes whenever the same log gives other rows."""
AT_ONCE = 8 << 20
"""Bytes of the log that one transaction takes in, and what is left of the batch they end in."""
_ROWS = 1_000
_NOBODYS = -1
_NO_FILE = frozenset(
    (
        sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH,
    )
)  # fmt: skip
"""Failures that another file in the same place would not mend."""

State = Literal["whole", "broken", "scanned"]


@dataclass(slots=True, kw_only=True)
class Tally:
    """What was counted of the events that were taken in; `last` is where the last one stands: the
    offset and length of its line (bytes).
    """

    last: tuple[int, int] = (0, 0)
    count: int = 0
    title: str = ""
    gaps: Gaps = field(default_factory=Gaps)
    position: Position = field(default_factory=Position)

    def add(self, placed: Placed) -> None:
        """Counts the next one."""
        event = placed.event
        self.last = placed.offset, placed.length
        self.count += 1
        self.gaps = self.gaps.after(event)
        self.position = self.position.after(event)
        if isinstance(event, SessionTitle):
            self.title = event.title


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What the index holds, and what it rests on.

    `inode`, `size` and `mtime` are the log's as it was last looked at; `end` is how much of it is
    in the index (bytes), `digest` the SHA-256 of the last line that is. `state`: `whole` so far;
    `broken`, nothing behind `end` can be taken line by line; or `scanned`, the whole events of a
    broken log, for as long as it stays as it is.
    """

    version: int = VERSION
    inode: int = _NOBODYS
    size: int = 0
    mtime: int = 0
    end: int = 0
    digest: str = ""
    ended: bool = True
    state: State = "whole"
    tally: Tally = field(default_factory=Tally)

    @property
    def last_seq(self) -> int:
        """The seq of the last event; 0 for none."""
        return self.tally.gaps.next_seq - 1

    @property
    def sound(self) -> bool:
        """Whether the log, as it was last looked at, needs no mending (ENG-5)."""
        whole = self.state == "whole" and self.end == self.size and self.ended
        return whole and not self.tally.gaps.missing


@dataclass(slots=True, kw_only=True)
class _Folded:
    """What a caller's fold knows, and up to which event."""

    version: str = ""
    seq: int = 0
    state: Json = None


_KNOWN, _FOLDED = "known", "folded"
Form = TypeVar("Form", Known, _Folded)


class Index:
    """One log's index: `known`, the caller's `fold` (both as of the last look), and the `tables`.

    Raises `sqlite3.Error`, after which only `renew` helps; with the log also `StoreError`, and
    `NotThere`, after which `forget` helps. Without a folding the fold that another caller left
    there stays as it is, and catches up when that one comes back.
    """

    def __init__(self, path: Path | None, folding: Folding | None) -> None:
        self._path, self._folding = path, folding
        self._tables: Tables | None = None
        self._renewed = self._trusted = False
        self._seen = -1
        self.known = Known()
        self._folded = _Folded()
        self.fold = folding.new() if folding else None

    @property
    def tables(self) -> Tables:
        """The rows. Opens the file if it is not open."""
        if self._tables is None:
            self._tables = Tables(self._opened())
        return self._tables

    def catch_up(self, log: LogReader, *, patient: bool = True) -> None:
        """Takes in what the log has and the index has not, in turns with other processes, for
        which it waits if it is patient.
        """
        self.tables.run(f"PRAGMA busy_timeout={database.WAIT_MS if patient else 0}")
        self.look()
        log.look()
        while not self._is_current(log):
            with self._turn():
                log.look()  # what another process took in meanwhile is in it
                if not self.fits(log):
                    self._clear()
                if self._folding and self._folded.seq < self.known.last_seq:
                    self._fold_earlier(log)
                else:
                    self._take_some(log)

    def take_scanned(self, log: LogReader, found: Iterable[Placed]) -> None:
        """Takes in all events of a broken log, as `scan` found them."""
        with self._turn():
            self._clear()
            for placed in found:
                self._add(placed)
            self._settle(log, end=log.size, size=log.size, state="scanned")

    def look(self) -> None:
        """Sees what another process has written meanwhile."""
        ((version,),) = self.tables.run("PRAGMA data_version").fetchall()
        if version != self._seen:
            if not database.is_ours(self.tables.database):
                raise database.NotOurs
            self._load()
            self._seen = version

    def is_of(self, log: LogReader) -> bool:
        """Whether the events that are known stand in this file."""
        return self.known.inode == log.inode and self.known.end <= log.size

    def fits(self, log: LogReader) -> bool:
        """Whether the log still holds what the index says, as far as its last line tells."""
        known = self.known
        if known.version != VERSION or not self.is_of(log):
            return False
        unchanged = known.size == log.size and known.mtime == log.mtime
        if not unchanged and (known.size == log.size or known.state == "scanned"):
            return False
        return not known.tally.count or _digest(log.at(*known.tally.last)) == known.digest

    def forget(self) -> None:
        """Empties the index: the log was not what it says."""
        with self._turn():
            self._clear()

    def renew(self, error: sqlite3.Error) -> None:
        """Goes on after `error` with a new file, or in memory where that would not help."""
        self.close()
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if self._path is not None and not self._renewed and code not in _NO_FILE:
            self._renewed = True
            with contextlib.suppress(OSError):
                database.discard(self._path)
                return
        self._path = None

    def close(self) -> None:
        """Gives the file up; again is harmless, and it is opened again if asked for."""
        if self._tables is not None:
            self._tables.database.close()
            self._tables = None
        self._seen, self._trusted = -1, False

    def _opened(self) -> sqlite3.Connection:
        if self._path is not None:
            with contextlib.suppress(database.NotOurs, OSError):
                return database.in_file(self._path)
            with contextlib.suppress(database.NotOurs, OSError):
                database.discard(self._path)
                return database.in_file(self._path)
            self._path = None
        return database.in_memory()

    @contextlib.contextmanager
    def _turn(self) -> Iterator[None]:
        """A transaction, in which nobody else writes and the latest is known."""
        self.tables.run("BEGIN IMMEDIATE")
        done = False
        try:
            self.look()
            yield
            self._keep()
            self.tables.run("COMMIT")
            self._trusted = done = True
        finally:
            if not done:
                self._seen = -1  # what was taken in is not there
                with contextlib.suppress(sqlite3.Error):
                    self.tables.run("ROLLBACK")

    def _load(self) -> None:
        self._trusted = False
        try:
            self.known = _form(Known).validate_json(self.tables.fact(_KNOWN))
            self._folded = _form(_Folded).validate_json(self.tables.fact(_FOLDED))
        except ValidationError:
            self.known, self._folded = Known(), _Folded()
        if self._folding:
            self._unfold(self._folding)

    def _unfold(self, folding: Folding) -> None:
        """The caller's fold, as it was kept, or from the beginning."""
        kept = self._folded
        if kept.version == str(folding.version) and kept.seq <= self.known.last_seq:
            with contextlib.suppress(ValueError):
                self.fold = folding.of(kept.state)
                return
        self.fold, self._folded = folding.new(), _Folded(version=str(folding.version))

    def _keep(self) -> None:
        if self.fold is not None:
            self._folded.state = self.fold.state()
        self.tables.keep(_KNOWN, _form(Known).dump_json(self.known).decode())
        self.tables.keep(_FOLDED, _form(_Folded).dump_json(self._folded).decode())

    def _clear(self) -> None:
        self.tables.clear()
        self.known, self._folded = Known(), _Folded()
        if self._folding:
            self._unfold(self._folding)

    def _is_current(self, log: LogReader) -> bool:
        known = self.known
        same = (known.inode, known.size, known.mtime) == (log.inode, log.size, log.mtime)
        if same and not self._trusted:
            self._trusted = same = self.fits(log)
        return same and (not self._folding or self._folded.seq == known.last_seq)

    def _fold_earlier(self, log: LogReader) -> None:
        """Feeds a fold that lags behind the rows."""
        if not self._folded.seq:
            self.tables.forget_requests()
        fed = 0
        while fed < AT_ONCE and (
            rows := self.tables.lines(self._folded.seq + 1, self.known.last_seq, _ROWS)
        ):
            for seq, offset, length in rows:
                self._feed(log.event(seq, offset, length))
                fed += length
        if not fed:
            raise NotThere("rows are missing")

    def _take_some(self, log: LogReader) -> None:
        follower = Follower(self.known.end, self.known.last_seq)
        enough = self.known.end + AT_ONCE
        state: State = "whole"
        try:
            for placed in follower.events(log):
                self._add(placed)
                if follower.end > enough and follower.is_between:
                    self._settle(log, end=follower.end, size=follower.end)
                    return
        except Broken:
            state = "broken"
        self._settle(log, end=follower.end, size=log.size, state=state)

    def _add(self, placed: Placed) -> None:
        tally = self.known.tally
        tally.add(placed)
        self.tables.add(placed, own=placed.event.ctx not in tally.position.inner)
        if self.fold is not None:
            self._feed(placed.event)

    def _feed(self, event: Event) -> None:
        assert self.fold is not None
        if isinstance(event, LlmRequest):
            self.tables.add_request(event, *self.fold.start)
        self.fold.feed(event)
        self._folded.seq = event.seq

    def _settle(self, log: LogReader, *, end: int, size: int, state: State = "whole") -> None:
        """Notes how far the log was read, and what the index rests on from now on."""
        self.known = replace(
            self.known,
            inode=log.inode,
            size=size,
            mtime=log.mtime if size == log.size else 0,
            end=end,
            digest=_digest(log.at(*self.known.tally.last)),
            ended=not log.size or log.at(log.size - 1, 1) == b"\n",
            state=state,
        )


def _digest(line: bytes) -> str:
    return sha256(line).hexdigest()


@functools.cache
def _form(kind: type[Form]) -> TypeAdapter[Form]:
    return TypeAdapter(kind)
