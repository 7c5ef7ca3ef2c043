"""Disks that refuse, and processes that are killed or stopped, at one exact place of a session."""

import asyncio
import errno
import os
import signal
import stat
import types
from collections.abc import Coroutine, Generator
from typing import Any

import pytest


class Wire:
    """Is met at the first write that holds a line of the last of `kinds`, behind lines of the ones
    before it.
    """

    def __init__(self, *kinds: str) -> None:
        self._ahead = [f'"type":"{kind}"'.encode() for kind in kinds]

    def met(self, data: bytes) -> bool:
        """Whether this write is the one, or came after it."""
        while self._ahead and self._ahead[0] in bytes(data):
            del self._ahead[0]
        return not self._ahead


class Refusing:
    """From where the wire is met no file takes anything more, until `lift`: with `share` of that
    write taken first, or all of it and never on the disk (`sync`).
    """

    def __init__(
        self, patch: pytest.MonkeyPatch, wire: Wire, code: int, share: float, *, sync: bool = False
    ) -> None:
        self.refuses = False
        self._lifted = False
        self._wire, self._code, self._share, self._sync = wire, code, share, sync
        self._write, self._fsync = os.write, os.fsync
        patch.setattr(os, "write", self.write)
        patch.setattr(os, "fsync", self.fsync)

    def lift(self) -> None:
        """The disk takes writes again."""
        self.refuses, self._lifted = False, True

    def write(self, fd: int, data: bytes) -> int:
        """In place of the system's."""
        if not stat.S_ISREG(os.fstat(fd).st_mode) or self._lifted:
            return self._write(fd, data)
        first = not self.refuses and self._wire.met(data)
        self.refuses |= first
        if not self.refuses or self._sync:
            return self._write(fd, data)
        if first and (share := int(len(data) * self._share)):
            return self._write(fd, data[:share])
        raise self._error()

    def fsync(self, fd: int) -> None:
        """In place of the system's."""
        if self.refuses and self._sync:
            raise self._error()
        self._fsync(fd)

    def _error(self) -> OSError:
        return OSError(self._code, os.strerror(self._code))


def full(patch: pytest.MonkeyPatch, wire: Wire) -> Refusing:
    """A disk that fills up in the middle of a write."""
    return Refusing(patch, wire, errno.ENOSPC, 0.6)


def read_only(patch: pytest.MonkeyPatch, wire: Wire) -> Refusing:
    """A disk that takes nothing more."""
    return Refusing(patch, wire, errno.EROFS, 0)


def failing(patch: pytest.MonkeyPatch, wire: Wire) -> Refusing:
    """A disk of which nobody knows whether it has what it took."""
    return Refusing(patch, wire, errno.EIO, 1, sync=True)


def kill_at(wire: Wire, byte: int) -> None:
    """This process is killed once `byte` bytes of the write at the wire are in its file; of a
    shorter one once it is all there.
    """
    write = os.write

    def killing(fd: int, data: bytes) -> int:
        if wire.met(data):
            part = bytes(data[:byte])
            while part:
                part = part[write(fd, part) :]
            os.kill(os.getpid(), signal.SIGKILL)
        return write(fd, data)

    os.write = killing


class StopAt:
    """Stops the run of a session, as Esc does, where it waits for the `at`-th time."""

    def __init__(self, at: int) -> None:
        self.stopped = False
        self._at, self._waits = at, 0
        asyncio.get_running_loop().set_task_factory(self._task)

    def _task(
        self, loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, Any], **more: Any
    ) -> "asyncio.Task[Any]":
        if getattr(work, "__qualname__", "") == "Runs._running":
            loop.set_task_factory(None)
            work = self._run(work)
        return asyncio.Task(work, loop=loop, **more)

    async def _run(self, work: Coroutine[Any, Any, Any]) -> None:
        await self._counted(work)

    @types.coroutine
    def _counted(self, work: Coroutine[Any, Any, Any]) -> Generator[Any, None, None]:
        """Lets it go on step by step."""
        error: BaseException | None = None
        while True:
            try:
                waits_for = work.send(None) if error is None else work.throw(error)
            except StopIteration:
                return
            self._waits += 1
            if self._waits == self._at:
                self.stopped = True
                task = asyncio.current_task()
                assert task is not None
                task.cancel()
            error = None
            try:
                yield waits_for
            except BaseException as thrown:  # noqa: BLE001 - it is the work's to take
                error = thrown
