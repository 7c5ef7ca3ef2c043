"""The in-process twin of the pipe: for tests and headless use. Same records, no copies."""

import asyncio
from collections.abc import AsyncIterator
from typing import Protocol

from nodwyn_tui.link.commands import Command
from nodwyn_tui.link.events import UpEvent


class Front(Protocol):
    """A front's end of a link."""

    def send(self, command: Command) -> None:
        """Tell the worker; never waits."""
        ...

    def events(self) -> AsyncIterator[UpEvent]:
        """What the worker tells, until it leaves."""
        ...

    async def close(self) -> None:
        """Let go of the worker; it ends cleanly."""
        ...


class Back(Protocol):
    """The worker's end of a link."""

    async def receive(self) -> Command | None:
        """The next command; `None` once the front is gone."""
        ...

    def emit(self, event: UpEvent) -> None:
        """Tell the front; never waits."""
        ...


class LocalLink:
    """Both ends in one event loop: a front's `send`, `events`, `close`, a worker's `receive`,
    `emit`, and `end` once the worker left.
    """

    def __init__(self) -> None:
        self._down: asyncio.Queue[Command | None] = asyncio.Queue()
        self._up: asyncio.Queue[UpEvent | None] = asyncio.Queue()

    def send(self, command: Command) -> None:
        self._down.put_nowait(command)

    async def events(self) -> AsyncIterator[UpEvent]:
        while (event := await self._up.get()) is not None:
            yield event

    async def close(self) -> None:
        self._down.put_nowait(None)

    async def receive(self) -> Command | None:
        return await self._down.get()

    def emit(self, event: UpEvent) -> None:
        self._up.put_nowait(event)

    def end(self) -> None:
        """The worker left: the front's `events` stops."""
        self._up.put_nowait(None)
