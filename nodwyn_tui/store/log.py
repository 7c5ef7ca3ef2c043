"""The session log (ENG-1 to ENG-6): the only door to its file. What passes is redacted, numbered,
appended whole, and given back as it was recorded: that is what is used from then on.
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
from nodwyn_tui.store.lines import encode
from nodwyn_tui.store.lock import SessionLock
from nodwyn_tui.store.places import LOCK_NAME, LOG_NAME, make_session_folder
from nodwyn_tui.store.position import Position
from nodwyn_tui.store.recovery import mend, position_behind
from nodwyn_tui.store.redact import Redactor
from nodwyn_tui.store.scan import Damage, scan
from nodwyn_tui.system.atomic import disk_error, sync_folder
from nodwyn_tui.system.clock import Clock

SYNCED = (SessionStart, UserMessage, LlmRequest, LlmResponse, WindowReset)
"""Events that are on the disk, not only on their way, when their append returns (ENG-3)."""


@dataclass(frozen=True, slots=True)
class LogContents:
    """What a log holds: its whole events, and what in it is none (as found; opening mends it)."""

    events: tuple[Event, ...]
    damage: Damage


@dataclass(frozen=True, slots=True)
class _Held:
    """Events that the disk has refused so far, as their lines."""

    data: bytes
    count: int
    sync: bool


class Log:
    """An open session log; its one writer. Not for several threads at once.

    `path` is the file, `next_seq` what the next event gets, `unsaved` how many events are held in
    memory because the disk refuses, `why` the latest refusal ('' while all is saved).
    """

    def __init__(self, file: LogFile, position: Position, clock: Clock, redactor: Redactor) -> None:
        self.path = file.path
        self.why = ""
        self._file, self._position = file, position
        self._clock, self._redactor = clock, redactor
        self._held: list[_Held] = []
        self._remarks: list[str] = []

    @classmethod
    def create(cls, folder: Path, clock: Clock, redactor: Redactor) -> "Log":
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
            return cls(LogFile(path, fd, lock), Position(), clock, redactor)

    @classmethod
    def open(cls, folder: Path, clock: Clock, redactor: Redactor) -> tuple["Log", LogContents]:
        """The log of an existing session, mended if it was damaged (ENG-5), and what it holds: with
        the `session.recovered` at its end then, and the damage as it was found.

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
            found = scan(read_log(path))
            events = mend(path, found, clock.now())
            position = position_behind(events, found.last_seq)
            try:
                fd = open_for_append(path)
            except OSError as error:
                raise disk_error("open", path, error) from error
            undo.pop_all()
            log = cls(LogFile(path, fd, lock), position, clock, redactor)
            return log, LogContents(events, found.damage)

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
        return sum(held.count for held in self._held)

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
        lines = _Held(b"".join(map(encode, events)), len(events), _needs_sync(events))
        saved = saved and self._try(lambda: self._write(lines), must=must)
        if not saved:
            self._held.append(lines)
        self._position = position
        self._remarks.clear()
        return events

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


def _needs_sync(events: Sequence[Event]) -> bool:
    return any(isinstance(event, SYNCED) for event in events)
