"""A log's file while it is read, piece by piece: never the whole of it at once."""

import io
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from nodwyn_tui.domain.events import Event
from nodwyn_tui.errors import StoreError
from nodwyn_tui.store.lines import NotAnEvent, decode
from nodwyn_tui.system.atomic import disk_error

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_PIECE = 1 << 20


class NotThere(Exception):
    """The log holds something else where an event was said to stand."""


class LogReader:
    """A log as it was at the last look.

    `inode`, `size` (bytes) and `mtime` (nanoseconds) are the file's.
    """

    def __init__(self, path: Path, fd: int) -> None:
        self._path, self._fd = path, fd
        self.look()

    def look(self) -> None:
        """Sees what was appended meanwhile."""
        found = os.fstat(self._fd)
        self.inode, self.size, self.mtime = found.st_ino, found.st_size, found.st_mtime_ns

    @classmethod
    def open(cls, path: Path) -> "LogReader":
        """The log at `path`. Raises `StoreError` for what is no file or can't be read."""
        flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        try:
            fd = os.open(path, flags)
        except OSError as error:
            raise disk_error("read", path, error) from error
        reader = cls(path, fd)
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            reader.close()
            raise StoreError(f"{path} is no file. Name a session's folder or its log.jsonl.")
        return reader

    def at(self, offset: int, length: int) -> bytes:
        """`length` bytes from `offset` on. Raises `NotThere` where the log has none."""
        end = offset + length
        if not 0 <= offset <= end or (end > self.size and end > os.fstat(self._fd).st_size):
            raise NotThere(f"no bytes {offset} to {end}")
        try:
            data = os.pread(self._fd, length, offset)
            while 0 < len(data) < length and (more := self._more(offset, length, len(data))):
                data += more
        except OSError as error:
            raise disk_error("read", self._path, error) from error
        return data

    def event(self, seq: int, offset: int, length: int) -> Event:
        """The event `seq`, whose line stands at `offset`. Raises `NotThere` if it does not."""
        try:
            event = decode(self.at(offset, length))
        except NotAnEvent as error:
            raise NotThere(f"no event at byte {offset}") from error
        if event.seq != seq:
            raise NotThere(f"seq {event.seq} at byte {offset}, not {seq}")
        return event

    def must_be_blank(self, start: int, end: int) -> None:
        """Raises `NotThere` if something stands between two places."""
        if self.at(start, end - start).strip():
            raise NotThere(f"something stands at byte {start}")

    def lines(self, start: int) -> Iterator[tuple[int, bytes]]:
        """Each line from the byte `start` on and where it stands; the last may lack its end."""
        offset = start
        with io.BufferedReader(_Stretch(self._fd, start, self.size), _PIECE) as file:
            try:
                for line in file:
                    yield offset, line
                    offset += len(line)
            except OSError as error:
                raise disk_error("read", self._path, error) from error

    def whole(self) -> bytes:
        """All of it."""
        return self.at(0, self.size)

    def close(self) -> None:
        """Gives the file up; again is harmless."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.close()

    def _more(self, offset: int, length: int, done: int) -> bytes:
        """One read gives 2 GB at most."""
        return os.pread(self._fd, length - done, offset + done)


class _Stretch(io.RawIOBase):
    """A part of a file, read by position: the descriptor may be the writer's own."""

    def __init__(self, fd: int, start: int, end: int) -> None:
        self._source, self._at, self._end = fd, start, end

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer", /) -> int:
        view = memoryview(buffer).cast("B")
        data = os.pread(self._source, min(len(view), self._end - self._at), self._at)
        view[: len(data)] = data
        self._at += len(data)
        return len(data)
