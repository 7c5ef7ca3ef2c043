"""The log's file, held open and locked: whole appends, and what happens to the file under us. Knows
bytes only.
"""

import contextlib
import os
import stat
from pathlib import Path

from nodwyn_tui.errors import StoreError
from nodwyn_tui.store.lock import SessionLock
from nodwyn_tui.store.places import LOCK_NAME, LOG_NAME, make_session_folder
from nodwyn_tui.store.reading import LogReader
from nodwyn_tui.system.atomic import disk_error, sync_file, write_whole

_APPEND = os.O_RDWR | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


def read_log(path: Path) -> bytes:
    """A log's bytes. Raises `StoreError` for what is no file, and where it can't be read."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise StoreError(f"{path} is no file. Name a session's folder or its {LOG_NAME}.")
        return path.read_bytes()
    except OSError as error:
        raise disk_error("read", path, error) from error


def open_for_append(path: Path, *, new: bool = False) -> int:
    """A descriptor of a log that exists, or of a new and empty one. Raises `OSError`."""
    fd = os.open(path, _APPEND | (os.O_CREAT | os.O_EXCL if new else 0), 0o600)
    if stat.S_IMODE(os.fstat(fd).st_mode) & 0o077:
        with contextlib.suppress(OSError):  # not ours to close to others
            os.fchmod(fd, 0o600)
    return fd


class LogFile:
    """One log's file. `settle`, then `append`; a failed append leaves nothing of itself behind.

    A log that was deleted or replaced is written again from the open descriptor, to which the bytes
    still belong; what took its place is kept beside it. A log that was moved together with its
    folder is written on where it is.
    """

    def __init__(self, path: Path, fd: int, lock: SessionLock) -> None:
        self.path, self._fd, self._lock = path, fd, lock
        self._size = os.fstat(fd).st_size
        self._ragged = False  # a part of a failed append may stand behind `_size`
        self._unended = False  # another program left the last line without its end

    @property
    def size(self) -> int:
        """Bytes of the log."""
        return self._size

    def append(self, data: bytes, *, sync: bool) -> None:
        """Appends whole lines in one write, on the disk when this returns if `sync`.

        Raises `StoreError`; then nothing was appended.
        """
        if self._ragged:
            self._cut_back()
        if self._ragged or self._unended:
            data = b"\n" + data  # what stands there becomes a line of its own, for the recovery
        whole = False
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(self._fd, rest) :]
            if sync:
                sync_file(self._fd)
            whole = True
        except OSError as error:
            raise disk_error("write", self.path, error) from error
        finally:
            if not whole:
                self._cut_back()
        self._size = os.fstat(self._fd).st_size
        self._ragged = self._unended = False

    def settle(self) -> str:
        """Looks whether the file is still what and where it was, and brings it back if not.

        Gives a remark for the person if something was amiss, else ''. Raises `StoreError` if it
        can't be brought back now; the bytes are then still held.
        """
        mine = os.fstat(self._fd)
        try:
            there = self.path.lstat()
        except (FileNotFoundError, NotADirectoryError):
            moved = mine.st_nlink > 0 and not self.path.parent.is_dir()
            return "" if moved else self._bring_back()
        except OSError:
            return ""  # the folder was closed to us; the descriptor still writes
        if not os.path.samestat(mine, there):
            return self._bring_back()
        if mine.st_size != self._size and not self._ragged:
            return self._changed(mine.st_size)
        return ""

    def reader(self) -> LogReader:
        """Reads the log, wherever its file is now. Raises `StoreError`."""
        if self._fd < 0:
            return LogReader.open(self.path)
        return LogReader(self.path, os.dup(self._fd))

    def close(self) -> None:
        """Gives the file and the lock up; again is harmless."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
        self._lock.release()

    def _cut_back(self) -> None:
        try:
            os.ftruncate(self._fd, self._size)
            self._ragged = False
        except OSError:
            self._ragged = True

    def _changed(self, size: int) -> str:
        difference = size - self._size
        self._size = size
        self._unended = size > 0 and os.pread(self._fd, 1, size - 1) != b"\n"
        how = f"{difference} bytes more" if difference > 0 else f"{-difference} bytes less"
        return (
            f"Another program changed {self.path}: it has {how} than were written. "
            "The session goes on; what is missing is named when it is opened next."
        )

    def _bring_back(self) -> str:
        folder, workspace = self.path.parent, self.path.parents[3]
        if not workspace.is_dir():
            raise StoreError(
                f"cannot write {self.path}: {workspace} is gone. Put it back, and the session is "
                "saved again whole."
            )
        make_session_folder(folder)
        try:
            data = self._bytes()
            self._lock_anew()
            aside = self._put_aside()
            write_whole(self.path, data, 0o600)
            fd = open_for_append(self.path)
        except OSError as error:
            raise disk_error("write", self.path, error) from error
        os.close(self._fd)
        self._fd, self._size, self._ragged = fd, len(data), False
        self._unended = not data.endswith(b"\n") and bool(data)
        remark = f"{self.path} had been removed, and was written again whole."
        return remark + (f" What stood in its place is now {aside}." if aside else "")

    def _bytes(self) -> bytes:
        size = self._size if self._ragged else os.fstat(self._fd).st_size
        data = bytearray()
        while piece := os.pread(self._fd, min(size - len(data), 1 << 26), len(data)):
            data += piece
        return bytes(data)

    def _lock_anew(self) -> None:
        if not self._lock.stands():
            lock = SessionLock.take(self.path.with_name(LOCK_NAME))
            self._lock.release()
            self._lock = lock

    def _put_aside(self) -> str:
        if not os.path.lexists(self.path):
            return ""
        number = 1
        while os.path.lexists(aside := self.path.with_name(f"log.replaced-{number}")):
            number += 1
        self.path.rename(aside)
        return aside.name
