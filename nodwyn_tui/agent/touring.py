"""The tour as a model among models: its server in this process, its workspace thrown away."""

from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from nodwyn_tui.agent.opening import Household
from nodwyn_tui.config.models import ModelChoice
from nodwyn_tui.config.schema import ModelSettings, ServerSettings
from nodwyn_tui.errors import SessionLocked
from nodwyn_tui.link import commands
from nodwyn_tui.store.lock import SessionLock
from nodwyn_tui.store.places import new_id
from nodwyn_tui.tour import server as tour_server
from nodwyn_tui.tour.sample import lock_of, prepare_workspace, remove_earlier


class Touring:
    """Starts the tour once; further sessions of this process stay in it."""

    def __init__(self, closing: AsyncExitStack) -> None:
        self._closing = closing
        self._workspace = ""

    @property
    def entered(self) -> bool:
        """Whether this process stays in the tour."""
        return bool(self._workspace)

    async def enter(self, command: commands.Open, household: Household) -> commands.Open:
        """The command with the tour's workspace; its guide is the only model from now on."""
        if not self._workspace:
            pace = 0 if command.headless else tour_server.PACE
            server = await self._closing.enter_async_context(tour_server.TourServer(pace=pace))
            rooms = household.rooms
            tour_id = new_id(rooms.clock.now())
            remove_earlier(rooms.cache, _claim)
            self._closing.enter_context(_claim(lock_of(rooms.cache, tour_id)))
            workspace = prepare_workspace(rooms.cache, tour_id)
            household.models.only(
                ModelChoice(
                    name="tour",
                    server_name="tour",
                    server=ServerSettings(provider="ollama", base_url=server.base_url),
                    model=ModelSettings(server="tour", model=tour_server.MODEL),
                )
            )
            self._workspace = str(workspace)
        return replace(command, workspace=self._workspace, model="")


@contextmanager
def _claim(path: Path) -> Iterator[bool]:
    try:
        lock = SessionLock.take(path)
    except SessionLocked:
        yield False
        return
    try:
        yield True
    finally:
        lock.release()
