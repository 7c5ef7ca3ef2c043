"""What the worker does for a first run, beside any session: it looks for what could answer, and
has Ollama fetch a model (TUI-6).
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from nodwyn_tui.agent.conversation import Emit
from nodwyn_tui.agent.local_weights import MODEL
from nodwyn_tui.agent.models import Models
from nodwyn_tui.agent.opening import Household
from nodwyn_tui.agent.ways import find_ways
from nodwyn_tui.config.servers import LOCAL
from nodwyn_tui.errors import ConfigError, ProviderError, UsageError
from nodwyn_tui.link import setup
from nodwyn_tui.providers.pulling import Pulled, pull

EACH_S = 0.1
"""How often at most the bytes are told."""


class FirstRun:
    """`home` gives the household as it is now. One looking and one fetching go on at a time."""

    def __init__(self, home: Callable[[], Household], emit: Emit) -> None:
        self._home, self._emit = home, emit
        self._looking: asyncio.Task[None] | None = None
        self._pulling: asyncio.Task[None] | None = None
        self._starting: asyncio.Task[None] | None = None

    def find_ways(self) -> None:
        """Looks beside everything else: a server that is down answers late, or never."""
        if not _goes_on(self._looking):
            self._looking = asyncio.create_task(self._found())

    def pull(self, wanted: setup.PullModel) -> None:
        """Has a model fetched beside everything else. `UsageError` while another one is."""
        if _goes_on(self._pulling):
            raise UsageError("another model is being fetched: wait for it, or stop it first")
        self._pulling = asyncio.create_task(self._pulled(wanted))

    def start_local(self) -> None:
        """Starts the small local model beside everything else."""
        if not _goes_on(self._starting):
            self._starting = asyncio.create_task(self._started())

    async def stop_pull(self) -> None:
        """Stops the fetching; what came stays with Ollama."""
        await _ended(self._pulling)

    async def close(self) -> None:
        """Ends what goes on."""
        for task in (self._looking, self._pulling, self._starting):
            await _ended(task)

    async def _found(self) -> None:
        self._emit(setup.WaysFound(ways=await find_ways(self._home().models)))

    async def _started(self) -> None:
        models = self._home().models
        try:
            await models.local.start(models.tell)
        except ConfigError as error:
            self._emit(setup.LocalStarting(error=str(error)))
        else:
            self._emit(setup.LocalStarting(status="it runs", server=LOCAL, model=MODEL))

    async def _pulled(self, wanted: setup.PullModel) -> None:
        home, told, status = self._home(), 0.0, ""
        try:
            async with aclosing(pulled(home.models, wanted.server, wanted.model)) as steps:
                async for step in steps:
                    now = home.rooms.clock.monotonic()
                    if step.status == status and not step.done and now - told < EACH_S:
                        continue
                    told, status = now, step.status
                    self._emit(
                        setup.PullProgress(
                            model=wanted.model,
                            status=step.status,
                            done_bytes=step.done_bytes,
                            all_bytes=step.all_bytes,
                            done=step.done,
                        )
                    )
        except (ConfigError, ProviderError, UsageError) as error:
            self._emit(setup.PullProgress(model=wanted.model, status=status, error=str(error)))


async def pulled(models: Models, server: str, model: str) -> AsyncGenerator[Pulled, None]:
    """A server fetches a model. `UsageError` for one that is no Ollama, `ConfigError` where its key
    cannot be had, `ProviderError` for whatever it fails at.
    """
    where = models.loaded.servers.get(server)
    if where is None or where.provider != "ollama":
        raise UsageError(f"{server!r} is no Ollama, and only Ollama fetches models")
    provider = await models.connector.provider(server, where)
    try:
        async with aclosing(pull(provider.client, model)) as steps:
            async for step in steps:
                yield step
    finally:
        await provider.aclose()


def _goes_on(task: asyncio.Task[None] | None) -> bool:
    return task is not None and not task.done()


async def _ended(task: asyncio.Task[None] | None) -> None:
    if task is not None:
        task.cancel()
        await asyncio.wait([task])
