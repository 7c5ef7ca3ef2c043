"""The link over two pipes to a child process: JSON lines, commands down and events up (AGT-1).

Neither end ever waits on the other: what a pipe does not take at once is kept and written when it
does. What the records mean belongs to `commands.py` and `events.py`, not here.
"""

import asyncio
import contextlib
import os
import signal
import subprocess
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Self, cast

from nodwyn_tui.link import codec
from nodwyn_tui.link.commands import Command
from nodwyn_tui.link.events import UpEvent

_READ = 65536
_FAIR = 32
"""Lines taken in a row before other tasks get their turn, so that a burst delays no keystroke."""
_BATCH_S = 0.010
_DRAIN_S = 1.0
_LEAVE_S = 5.0


class PipeFront:
    """A front's end. The process is started before an event loop runs; `send` works at once."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        """`process` has pipes as its standard input and output, as from `spawn.py`."""
        if process.stdin is None or process.stdout is None:
            raise ValueError("the process needs pipes for standard input and output")
        self.process = process
        self._outlet = _Outlet(process.stdin.fileno())
        self._inlet = _Inlet(process.stdout.fileno())

    def send(self, command: Command) -> None:
        self._outlet.write(codec.encode(command))

    async def events(self) -> AsyncIterator[UpEvent]:
        """What the worker tells; ends when it is gone, however it went."""
        self._outlet.write(b"")
        while (line := await self._inlet.line()) is not None:
            yield cast("UpEvent", codec.decode(line))

    async def close(self, patience_s: float = _LEAVE_S) -> None:
        """Close the pipe and see the worker leave; one that does not in time is ended."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._outlet.drained(), _DRAIN_S)
        self._outlet.close()
        self._inlet.close()
        for end in (self.process.stdin, self.process.stdout):
            if end is not None:
                end.close()
        for last_word in (self.process.terminate, self.process.kill):
            if await asyncio.to_thread(_left, self.process, patience_s):
                return
            last_word()
        await asyncio.to_thread(_left, self.process, patience_s)


class PipeBack:
    """The worker's end, over two descriptors. Events are written in batches of about 10 ms."""

    def __init__(self, inlet: int, outlet: int) -> None:
        self._inlet = _Inlet(inlet)
        self._outlet = _Outlet(outlet)
        self._batch: list[bytes] = []
        self._written = 0.0
        self._due: asyncio.TimerHandle | None = None

    @classmethod
    def take_standard_streams(cls) -> Self:
        """Use this process's standard input and output, and shield them from everything else:
        from here on reading finds nothing, and a stray `print` goes to standard error.
        """
        inlet, outlet = os.dup(0), os.dup(1)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        os.dup2(2, 1)
        return cls(inlet, outlet)

    async def receive(self) -> Command | None:
        line = await self._inlet.line()
        return None if line is None else cast("Command", codec.decode(line))

    def emit(self, event: UpEvent) -> None:
        self._batch.append(codec.encode(event))
        if self._due is None:
            loop = asyncio.get_running_loop()
            self._due = loop.call_at(max(loop.time(), self._written + _BATCH_S), self._flush)

    def stop(self) -> None:
        """Take no more commands: the worker ends in order, as when the front is gone."""
        self._inlet.close()

    async def finish(self) -> None:
        """Write what is left and let go; gives up once the front is gone."""
        self._flush()
        await self._outlet.drained()
        self._outlet.close()

    def _flush(self) -> None:
        if self._due is not None:
            self._due.cancel()
            self._due = None
        self._written = asyncio.get_running_loop().time()
        batch, self._batch = b"".join(self._batch), []
        self._outlet.write(batch)


def serve(work: Callable[[PipeBack], Awaitable[None]]) -> None:
    """Be a worker: `work` over this process's standard streams, until it returns."""

    async def run() -> None:
        back = PipeBack.take_standard_streams()
        for name in (signal.SIGTERM, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(name, back.stop)
        try:
            await work(back)
        finally:
            await back.finish()

    asyncio.run(run())


class _Outlet:
    """The writing end of a pipe that never blocks. A reader that is gone is no error here: the
    other direction ends as well, and says so.
    """

    def __init__(self, descriptor: int) -> None:
        os.set_blocking(descriptor, False)
        self._descriptor = descriptor
        self._rest = bytearray()
        self._watching: asyncio.AbstractEventLoop | None = None
        self._empty: asyncio.Future[None] | None = None
        self._closed = False

    def write(self, data: bytes) -> None:
        """Write now what the pipe takes, and the rest, once a loop runs, when it takes more."""
        if not self._closed:
            self._rest += data
            self._push()

    async def drained(self) -> None:
        """Wait until all is written, or nobody reads any more."""
        if self._rest:
            self._empty = asyncio.get_running_loop().create_future()
            self._watch()
            await self._empty

    def close(self) -> None:
        """Write no more. The descriptor itself is its owner's to close."""
        self._closed = True
        self._rest.clear()
        self._settle()

    def _push(self) -> None:
        try:
            while self._rest:
                del self._rest[: os.write(self._descriptor, self._rest[:_READ])]
        except BlockingIOError:
            self._watch()
        except OSError:
            self.close()
        else:
            self._settle()

    def _watch(self) -> None:
        if self._watching is None:
            with contextlib.suppress(RuntimeError):
                loop = asyncio.get_running_loop()
                loop.add_writer(self._descriptor, self._push)
                self._watching = loop

    def _settle(self) -> None:
        if self._watching is not None:
            self._watching.remove_writer(self._descriptor)
            self._watching = None
        if self._empty is not None and not self._empty.done():
            self._empty.set_result(None)


class _Inlet:
    """The reading end of a pipe, line by line. Nothing is read ahead of what is taken, so that a
    flood waits in the pipe and not in memory.
    """

    def __init__(self, descriptor: int) -> None:
        os.set_blocking(descriptor, False)
        self._descriptor = descriptor
        self._lines: deque[bytes] = deque()
        self._begun: list[bytes] = []
        self._taken = 0
        self._ready: asyncio.Future[None] | None = None
        self._closed = False

    async def line(self) -> bytes | None:
        """The next whole line without its end; `None` at the end of the pipe. Half a line there is
        dropped: its writer died in it. Cancelling the wait loses nothing.
        """
        self._taken += 1
        if self._taken % _FAIR == 0:
            await asyncio.sleep(0)
        while not self._lines and not self._closed:
            try:
                self._split(os.read(self._descriptor, _READ))
            except BlockingIOError:
                await self._readable()
            except OSError:
                self._closed = True
        return self._lines.popleft() if self._lines else None

    def close(self) -> None:
        """Read no more, and let a waiting `line` go. The descriptor is its owner's to close."""
        self._closed = True
        self._wake()

    def _split(self, chunk: bytes) -> None:
        first, *others = chunk.split(b"\n")
        self._begun.append(first)
        for line in others:
            self._lines.append(b"".join(self._begun))
            self._begun = [line]
        self._closed = not chunk

    async def _readable(self) -> None:
        loop = asyncio.get_running_loop()
        ready = self._ready = loop.create_future()
        loop.add_reader(self._descriptor, self._wake)
        try:
            await ready
        finally:
            if self._ready is ready:  # else a later wait has begun: this one was cancelled
                loop.remove_reader(self._descriptor)

    def _wake(self) -> None:
        if self._ready is not None and not self._ready.done():
            self._ready.set_result(None)


def _left(process: subprocess.Popen[bytes], patience_s: float) -> bool:
    try:
        process.wait(patience_s)
    except subprocess.TimeoutExpired:
        return False
    return True
