"""Which session is opened for a command: a new one, an earlier one, or none yet."""

from dataclasses import dataclass, replace
from pathlib import Path

from nodwyn_tui.agent.assembly import Assembly, Rooms
from nodwyn_tui.agent.conversation import Emit
from nodwyn_tui.agent.ledger import Facts, Ledgers, ledger_of
from nodwyn_tui.agent.models import Models
from nodwyn_tui.agent.session import Session
from nodwyn_tui.agent.target import Target
from nodwyn_tui.config.files import Loaded
from nodwyn_tui.errors import ConfigError, SessionLocked
from nodwyn_tui.link import commands
from nodwyn_tui.link import events as up
from nodwyn_tui.store import places, sessions
from nodwyn_tui.store.log import Log


@dataclass(frozen=True, slots=True, kw_only=True)
class Household:
    """What wiring makes from the first command."""

    rooms: Rooms
    models: Models

    @property
    def loaded(self) -> Loaded:
        """The settings as they are now."""
        return self.models.loaded


@dataclass(frozen=True, slots=True)
class Found:
    """What was opened for `command` (its workspace may be another one than asked for): a session;
    or one that process `holder` writes, in `folder`; or neither, for want of a model.
    """

    command: commands.Open
    session: Session | None = None
    warning: str = ""
    folder: Path | None = None
    holder: int = 0


class Opener:
    """Opens sessions of one household."""

    def __init__(self, household: Household, emit: Emit) -> None:
        self._rooms, self._models, self._emit = household.rooms, household.models, emit
        self._assembly = Assembly(
            household.rooms, household.loaded, household.models.fallback, emit
        )

    async def open(self, command: commands.Open) -> Found:
        """Opens what a command asks for. Raises what keeps it from being opened."""
        earlier = self._earlier(command)
        return await self._new(command) if earlier is None else await self._resume(command, earlier)

    def _earlier(self, command: commands.Open) -> Path | None:
        """The folder of the session to resume; `None` for a new one."""
        workspace, state = Path(command.workspace), self._rooms.state
        if command.resume != "last":
            return sessions.find(command.resume, workspace, state) if command.resume else None
        for facts in sessions.list_sessions(workspace, state):
            if facts.first_message and places.created_here(facts.id, state):
                return facts.folder
        text = "you have no earlier session in this folder: this is a new one"
        self._emit(up.Notice(level="info", text=text))
        return None

    async def _new(self, command: commands.Open) -> Found:
        name = places.new_id(self._rooms.clock.now())
        target, warning = await self._target(command, name)
        if target is None:
            return Found(command)
        folder = places.new_session(Path(command.workspace), self._rooms.state, name)
        return Found(command, self._assembly.new(command, folder, target), warning)

    async def _resume(self, command: commands.Open, folder: Path) -> Found:
        try:
            log, contents = Log.open(folder, self._rooms.clock, self._rooms.redactor, Ledgers())
        except SessionLocked as error:
            return Found(command, folder=folder, holder=error.pid)
        try:
            facts = ledger_of(log.archive).facts
            command = replace(command, workspace=self._workspace(command, folder, facts))
            target, warning = await self._last_target(command, facts, folder.name)
            if target is None:
                raise self._models.missing()  # noqa: TRY301 - the log is let go of below
            session = self._assembly.resumed(command, log, contents.events, target)
        except BaseException:
            log.close()
            raise
        return Found(command, session, warning)

    def _workspace(self, command: commands.Open, folder: Path, facts: Facts) -> str:
        """A session goes on where it belongs, if that folder is still there."""
        home = places.workspace_of(folder, facts.workspace, self._rooms.state)
        return str(home) if home is not None and home.is_dir() else command.workspace

    async def _last_target(
        self, command: commands.Open, facts: Facts, session: str
    ) -> tuple[Target | None, str]:
        """A resumed session goes on with the model it last asked, unless another one is named. It
        is sent to no other one unasked.
        """
        if command.model or not facts.last_model:
            return await self._target(command, session)
        try:
            return await self._target(replace(command, model=facts.last_model), session)
        except ConfigError as error:
            raise ConfigError(
                f"this session last asked the model {facts.last_model!r}, which can't be had now:"
                f" {error}. Name another one with --model"
            ) from error

    async def _target(self, command: commands.Open, session: str) -> tuple[Target | None, str]:
        """A person at the screen picks their first model; a run without one takes what is there."""
        if not (command.headless or command.model or self._models.led):
            return None, ""
        found = await self._models.choose(command.model, session)
        return found.target, found.warning
