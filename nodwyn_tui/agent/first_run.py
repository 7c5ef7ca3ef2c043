"""What the worker does for a first run, beside any session: it looks for what could answer, and
has Ollama fetch a model (TUI-6).
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from nodwyn_tui.agent.conversation import Emit
from nodwyn_tui.agent.opening import Household
from nodwyn_tui.agent.ways import find_ways
from nodwyn_tui.link import setup


class FirstRun:
    """`home` gives the household as it is now. One looking and one fetching go on at a time."""

    def __init__(self, home: Callable[[], Household], emit: Emit) -> None:
        self._home, self._emit = home, emit
        self._looking: asyncio.Task[None] | None = None

    def find_ways(self) -> None:
        """Looks beside everything else: a server that is down answers late, or never."""
        self._looking = _again(self._looking, self._found)

    async def close(self) -> None:
        """Ends what goes on."""
        for task in (self._looking,):
            if task is not None:
                task.cancel()
                await asyncio.wait([task])

    async def _found(self) -> None:
        self._emit(setup.WaysFound(ways=await find_ways(self._home().models)))


def _again(
    task: asyncio.Task[None] | None, work: Callable[[], Coroutine[Any, Any, None]]
) -> asyncio.Task[None]:
    """The task that is at it already, else a new one."""
    return task if task is not None and not task.done() else asyncio.create_task(work())
