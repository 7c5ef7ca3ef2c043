"""One writer a session (ENG-4): a lock that the system gives up with the process that held it, so a
dead holder's is free at once. The file stays; what it holds is the holder's pid.
"""

import contextlib
import errno
import os
import stat
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from nodwyn_tui.errors import SessionLocked
from nodwyn_tui.system.atomic import disk_error

if sys.platform == "win32":
    import msvcrt

    def _grab(fd: int, *, wait: bool) -> None:
        # A byte far behind the pid, since Windows lets nobody read a locked one.
        os.lseek(fd, 1 << 30, os.SEEK_SET)
        msvcrt.locking(fd, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)

    def _lives(pid: int) -> bool:
        return pid > 0  # signal 0 would not ask there, but interrupt
else:
    import fcntl

    def _grab(fd: int, *, wait: bool) -> None:
        fcntl.flock(fd, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _lives(pid: int) -> bool:
        try:
            os.kill(pid, 0)
        except PermissionError:
            return True  # another user's
        except OSError:
            return False
        return True


_HELD = (errno.EAGAIN, errno.EACCES, errno.EDEADLK)
_FLAGS = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_PID_WAITS = (0.0, 0.01, 0.03, 0.06)
"""Seconds between looks for the pid of a holder that has only just got the lock."""


class SessionLock:
    """The lock of one session, held from `take` to `release`."""

    def __init__(self, path: Path, fd: int) -> None:
        self._path, self._fd = path, fd

    @classmethod
    def take(cls, path: Path) -> "SessionLock":
        """Holds the lock file at `path`. Raises `SessionLocked` with the holder's pid if another
        opener has it, and `StoreError`.
        """
        try:
            return cls(path, _locked(path))
        except OSError as error:
            if error.errno not in _HELD:
                raise disk_error("lock", path, error) from error
            pid = _holder(path)
            raise SessionLocked(
                f"{path.parent.name} is open in another process"
                + (f" (pid {pid})" if pid else "")
                + ": it can be read here, and written once that process has closed it.",
                pid=pid,
            ) from error

    def stands(self) -> bool:
        """Whether the file that is locked is still the one at its path."""
        return _same(self._path, self._fd)

    def release(self) -> None:
        """Gives the lock up; again is harmless."""
        if self._fd >= 0:
            with contextlib.suppress(OSError):
                os.ftruncate(self._fd, 0)
            os.close(self._fd)
            self._fd = -1


@contextlib.contextmanager
def turn(path: Path) -> Iterator[None]:
    """A short turn that processes take one after the other, by a lock file. Raises `StoreError`."""
    try:
        fd = _locked(path, wait=True)
    except OSError as error:
        raise disk_error("lock", path, error) from error
    try:
        yield
    finally:
        os.close(fd)


def _locked(path: Path, *, wait: bool = False) -> int:
    while True:
        fd = _open(path)
        try:
            _grab(fd, wait=wait)
            if _same(path, fd):  # else its folder was made anew meanwhile
                _sign(fd)
                return fd
        except OSError:
            os.close(fd)
            raise
        os.close(fd)


def _open(path: Path) -> int:
    fd = os.open(path, _FLAGS, 0o600)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(errno.EEXIST, os.strerror(errno.EEXIST))
    return fd


def _sign(fd: int) -> None:
    # On a full disk the lock holds all the same; its holder is then unknown to others.
    with contextlib.suppress(OSError):
        os.ftruncate(fd, 0)
        os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)


def _same(path: Path, fd: int) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), path.lstat())
    except OSError:
        return False


def _holder(path: Path) -> int:
    """The pid in the file if a process of that number lives, else 0."""
    for pause in _PID_WAITS:
        time.sleep(pause)
        with contextlib.suppress(OSError, ValueError):
            pid = int(path.read_bytes()[:20])
            if pid > 0 and _lives(pid):
                return pid
    return 0
