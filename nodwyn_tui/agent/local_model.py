"""The small local model of the optional extra: its server as a child process, on a port of its own
that takes this process's key alone, ended with this process whatever ends it.
"""

import asyncio
import contextlib
import re
import secrets
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from nodwyn_tui.agent.local_weights import (
    MODEL,
    SIZE,
    fetch_weights,
    find_weights,
    server_is_installed,
)
from nodwyn_tui.config.environment import LOCAL_KEY
from nodwyn_tui.errors import ConfigError
from nodwyn_tui.system import processes
from nodwyn_tui.system.processes import CannotStart, Process

START_S = 120.0
"""Seconds until the model has to be loaded; on a usual machine it takes two."""
EXTRA = "pip install 'nodwyn-tui[local]'"
COMMAND = (sys.executable, "-P", "-m", "nodwyn_tui", "_local")
_LISTENS = re.compile(r"^nodwyn-local listens on (http://127\.0\.0\.1:\d+)$", re.MULTILINE)
_WORDS = 2000

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Running:
    """Where it is reached, and with which key."""

    base_url: str
    key: str


class LocalModel:
    """Started once, when first asked for. `environment` is what the child gets."""

    def __init__(self, cache: Path, environment: Callable[[], Mapping[str, str]]) -> None:
        self._folder, self._environment = cache / "models", environment
        self._process: Process | None = None
        self._running: Running | None = None
        self._draining: asyncio.Task[None] | None = None
        self._alone = asyncio.Lock()

    @property
    def offered(self) -> str:
        """What there is to say of it where it can be started, '' where it cannot."""
        if not server_is_installed():
            return ""
        here = find_weights(self._folder) is not None
        return "weak, no tools" + ("" if here else f"; {SIZE} to fetch once")

    async def start(self, tell: Tell) -> Running:
        """Its address and key, once it answers; `tell` hears what goes on meanwhile. Raises
        `ConfigError` where it cannot be had.
        """
        async with self._alone:
            if self._running is not None and processes.alive(self._process_id):
                return self._running
            await self._end()
            if not server_is_installed():
                raise ConfigError(
                    f"the small local model is not installed here: {EXTRA} brings it, or /setup"
                    " picks another model"
                )
            weights = find_weights(self._folder)
            if weights is None:
                tell(f"fetches the weights, {SIZE}, once")
                weights = await fetch_weights(self._folder, self._environment())
            tell(f"loads {MODEL}")
            return await self._start(weights)

    async def close(self) -> None:
        """Ends the child."""
        async with self._alone:
            await self._end()

    @property
    def _process_id(self) -> int:
        assert self._process is not None, "it runs"
        return self._process.pid

    async def _start(self, weights: Path) -> Running:
        key = secrets.token_urlsafe(24)
        try:
            self._process = process = await processes.start(
                [*COMMAND, str(weights), MODEL],
                folder=weights.parent,
                environment={**self._environment(), LOCAL_KEY: key},
            )
        except CannotStart as error:
            raise ConfigError(f"the local model's server did not start: {error}") from error
        said = ""
        try:
            async with asyncio.timeout(START_S):
                while not (found := _LISTENS.search(said)):
                    piece = await process.read()
                    if not piece:
                        break
                    said = (said + piece.decode("utf-8", "replace"))[-_WORDS:]
        except TimeoutError:
            found = None
        if found is None:
            await self._end()
            last = said.strip().rpartition("\n")[2] or "it said nothing"
            raise ConfigError(
                f"the local model's server did not come up: {last}. If its weights are broken,"
                f" remove {weights}, and pick it again"
            )
        self._draining = asyncio.create_task(_drain(process))
        self._running = Running(f"{found[1]}/v1", key)
        return self._running

    async def _end(self) -> None:
        process, draining = self._process, self._draining
        self._process = self._draining = self._running = None
        if draining is not None:
            draining.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await draining
        if process is not None:
            await process.end()
            process.close()


async def _drain(process: Process) -> None:
    """What it says from now on is nobody's, but has to be read, or it would wait."""
    while await process.read():
        pass
