"""The session log (ENG-1 to ENG-6): the only door to its file. What passes is redacted, numbered,
appended whole, and given back as it was recorded: that is what is used from then on. What was
recorded earlier is read through its `archive`.
"""

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from nodwyn_tui.domain.events import (
    Event,
    LlmRequest,
    LlmResponse,
    Note,
    SessionStart,
    UnknownEvent,
    UserMessage,
    WindowReset,
)
from nodwyn_tui.errors import StoreError
from nodwyn_tui.store.appending import LogFile, open_for_append, read_log
from nodwyn_tui.store.archive import Archive
from nodwyn_tui.store.folding import Fold, Folding
from nodwyn_tui.store.lines import encode
from nodwyn_tui.store.lock import SessionLock
from nodwyn_tui.store.places import LOCK_NAME, LOG_NAME, make_session_folder
from nodwyn_tui.store.recovery import mend
from nodwyn_tui.store.redact import Redactor
from nodwyn_tui.store.scan import Damage, scan
from nodwyn_tui.system.atomic import disk_error, sync_folder
from nodwyn_tui.system.clock import Clock

SYNCED = (SessionStart, UserMessage, LlmRequest, LlmResponse, WindowReset)
"""Events that are on the disk, not only on their way, when their append returns (ENG-3)."""
_BEHIND = 1 << 20
"""How many bytes the index lags behind the log at most, so that the next opening finds it warm."""
_INDEXED = 1 << 16
"""A log that is closed with fewer bytes is read as quickly as an index of it."""


@dataclass(frozen=True, slots=True)
class LogContents:
    """What a log holds: its whole events, and what in it is none (as found; opening mends it)."""

    events: tuple[Event, ...]
    damage: Damage


@dataclass(frozen=True, slots=True)
class Opened:
    """What an opened log tells: the events that its next window may need (all without a folding),
    that folding's fold of all events, and what was damaged, as it was found.
    """

    events: tuple[Event, ...]
    fold: Fold | None
    damage: Damage


@dataclass(frozen=True, slots=True)
class _Held:
    """Events that the disk has refused so far, and their lines."""

    events: tuple[Event, ...]
    data: bytes
    sync: bool


class Log:
    """An open session log; its one writer. Not for several threads at once.

    `path` is the file, `next_seq` what the next event gets, `unsaved` how many events are held in
    memory because the disk refuses, `why` the latest refusal ('' while all is saved). `archive`
    reads what is saved; `event` finds also what is held.
    """

    def __init__(self, file: LogFile, archive: Archive, clock: Clock, redactor: Redactor) -> None:
        self.path = file.path
        self.why = ""
        self.archive = archive
        archive.opener = file.reader
        self._file, self._position = file, archive.position
        self._clock, self._redactor = clock, redactor
        self._held: list[_Held] = []
        self._behind = 0
        self._remarks: list[str] = []

    @classmethod
    def create(
        cls, folder: Path, clock: Clock, redactor: Redactor, folding: Folding | None = None
    ) -> "Log":
        """A new log in a session's folder, which is made if need be. Raises `StoreError`."""
        make_session_folder(folder)
        path = folder / LOG_NAME
        with contextlib.ExitStack() as undo:
            lock = SessionLock.take(folder / LOCK_NAME)
            undo.callback(lock.release)
            try:
                fd = open_for_append(path, new=True)
                sync_folder(folder)
            except OSError as error:
                raise disk_error("make", path, error) from error
            undo.pop_all()
            return cls(LogFile(path, fd, lock), Archive(path, folding), clock, redactor)

    @classmethod
    def open(
        cls, folder: Path, clock: Clock, redactor: Redactor, folding: Folding | None = None
    ) -> tuple["Log", Opened]:
        """The log of an existing session, mended if it was damaged (ENG-5; a `session.recovered`
        stands at its end then), and what its next window needs. A sound one that its index knows is
        not read any further than that.

        Raises `SessionLocked` if another process writes it, and `StoreError`.
        """
        path = folder / LOG_NAME
        if not path.exists():
            raise StoreError(f"there is no session in {folder}. See `nodwyn sessions list`.")
        if path.is_symlink():  # a repository's, perhaps: nothing of what it leads to is touched
            raise StoreError(f"{path} is a symbolic link. A session's log is a file of its own.")
        with contextlib.ExitStack() as undo:
            lock = SessionLock.take(folder / LOCK_NAME)
            undo.callback(lock.release)
            archive = Archive(path, folding)
            undo.callback(archive.close)
            events, damage = _sound(archive, path, clock)
            try:
                fd = open_for_append(path)
            except OSError as error:
                raise disk_error("open", path, error) from error
            undo.pop_all()
            log = cls(LogFile(path, fd, lock), archive, clock, redactor)
            return log, Opened(events, archive.fold, damage)

    @staticmethod
    def read(path: Path) -> LogContents:
        """What a log holds, for whoever only looks: no lock, and the file stays as it is.

        While another process writes, the last line or batch may be under way, and so look cut.
        """
        found = scan(read_log(path))
        return LogContents(found.events, found.damage)

    @property
    def next_seq(self) -> int:
        """The seq of the next event."""
        return self._position.next_seq

    @property
    def unsaved(self) -> int:
        """How many events are held in memory because the disk refuses them."""
        return sum(len(held.events) for held in self._held)

    def append(self, *drafts: Event, must: bool = True) -> tuple[Event, ...]:
        """Records the drafts, all or none, in one write; gives them as recorded, in order, and
        behind them the notes that belong to them (a block that was left out, a log that was
        brought back).

        `must`: what depends on them may only go on if they are recorded. Raises `StoreError` if
        the disk refuses; no seq is used. Without it (a reply's end, a tool's result) they are held
        in memory then, with their seqs, and every later append tries them first.
        """
        if not drafts:
            return ()
        clean = self._redacted(drafts)
        saved = self._try(self._settle_and_flush, must=must)
        clean += tuple(Note(ctx=drafts[0].ctx, text=remark) for remark in self._remarks)
        events, position = self._position.place(clean, self._clock.now())
        lines = _Held(events, b"".join(map(encode, events)), _needs_sync(events))
        saved = saved and self._try(lambda: self._write(lines), must=must)
        if not saved:
            self._held.append(lines)
        self._position = position
        self._remarks.clear()
        return events

    def event(self, seq: int) -> Event | None:
        """The event at `seq`, saved or held. Raises `StoreError`."""
        held = (event for lines in self._held for event in lines.events if event.seq == seq)
        return next(held, None) or self.archive.event(seq)

    def without_keys(self, text: str) -> str:
        """A text as this log would hold it."""
        return self._redactor.text(text)

    def flush_held(self) -> bool:
        """Tries again to save what is held; whether all is saved now."""
        return self._try(self._settle_and_flush, must=False)

    def close(self) -> None:
        """Saves what is held if the disk takes it (`unsaved` tells), and gives up file and lock."""
        if self._held:
            self.flush_held()
        if self._file.size >= _INDEXED:
            self.archive.keep_up()
        self.archive.close()
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def _redacted(self, drafts: Sequence[Event]) -> tuple[Event, ...]:
        events: list[Event] = []
        notes: list[Event] = []
        for draft in drafts:
            if isinstance(draft, UnknownEvent):
                raise TypeError("an event of another build has a place already: it is no draft")
            event, about = self._redactor.event(draft)
            events.append(event)
            notes += about
        return (*events, *notes)

    def _try(self, action: Callable[[], None], *, must: bool) -> bool:
        try:
            action()
        except StoreError as error:
            self.why = str(error)
            if must:
                raise
            return False
        self.why = ""
        return True

    def _settle_and_flush(self) -> None:
        if remark := self._file.settle():
            self._remarks.append(remark)
        while self._held:
            self._write(self._held[0])
            del self._held[0]

    def _write(self, lines: _Held) -> None:
        self._file.append(lines.data, sync=lines.sync)
        self._behind += len(lines.data)
        if self._behind >= _BEHIND:
            self._behind = 0
            self.archive.keep_up()


def _sound(archive: Archive, path: Path, clock: Clock) -> tuple[tuple[Event, ...], Damage]:
    """The events that the next window may need, after the log was mended if it has to be."""
    if archive.catch_up():
        events = archive.from_start()
        if archive.sound:  # else the damage was found only now
            return events, Damage()
    found = scan(read_log(path))
    mend(path, found, clock.now())
    archive.catch_up()
    return archive.from_start(), found.damage


def _needs_sync(events: Sequence[Event]) -> bool:
    return any(isinstance(event, SYNCED) for event in events)
