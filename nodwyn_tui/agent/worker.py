"""The worker: takes commands, owns the session, tells events. The same object in a child process
under the screen, and in process under `nodwyn run` and the tests (AGT-1).
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from nodwyn_tui.agent.models import Models
from nodwyn_tui.agent.opening import Opener, Rooms
from nodwyn_tui.agent.session import Session, failure_kind
from nodwyn_tui.agent.target import Target
from nodwyn_tui.agent.transcript import Transcript
from nodwyn_tui.config.files import Loaded
from nodwyn_tui.config.models import ModelChoice
from nodwyn_tui.config.schema import ModelSettings, ServerSettings
from nodwyn_tui.domain import events as ev
from nodwyn_tui.errors import ConfigError, NodwynError, SessionLocked, StoreError, UsageError
from nodwyn_tui.link import commands
from nodwyn_tui.link import events as up
from nodwyn_tui.link.local import Back
from nodwyn_tui.store import places, sessions
from nodwyn_tui.store.draft import Draft
from nodwyn_tui.store.log import Log
from nodwyn_tui.tour import server as tour_server
from nodwyn_tui.tour.sample import prepare_workspace

PIECE = 500
"""Entries told at once when a session opens."""

READ_ONLY = "this session is read-only here: another process writes it"
NO_SESSION = "no model is chosen yet: /model picks one"


@dataclass(frozen=True, slots=True, kw_only=True)
class Household:
    """What wiring makes from the first command."""

    rooms: Rooms
    loaded: Loaded
    models: Models


class Worker:
    """Serves one front until it leaves."""

    def __init__(self, back: Back, assemble: Callable[[commands.Open], Household]) -> None:
        self._back, self._assemble = back, assemble
        self._session: Session | None = None
        self._reader: Transcript | None = None
        self._household: Household | None = None
        self._opened = commands.Open(workspace=".")
        self._closing = AsyncExitStack()
        self._draft_failed = self._touring = False

    async def serve(self) -> None:
        """Takes commands until `Close`, until the front is gone or no session can be opened."""
        try:
            while (command := await self._next()) is not None:
                if isinstance(command, commands.Close):
                    break
                try:
                    await self._do(command)
                except NodwynError as error:
                    if self._refused(command, error):
                        return
        finally:
            name = await self._leave()
        self._back.emit(up.Closed(session=name))

    async def _next(self) -> commands.Command | None:
        """The next command; a bug in a run surfaces here."""
        if self._session is None:
            return await self._back.receive()
        receiving = asyncio.ensure_future(self._back.receive())
        crashed = self._session.crashed
        either: tuple[asyncio.Future[Any], ...] = (receiving, crashed)
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if crashed.done():
            receiving.cancel()
            crashed.result()
        return await receiving

    def _refused(self, command: commands.Command, error: NodwynError) -> bool:
        """Tells that a command failed; whether nothing can follow."""
        if isinstance(command, commands.Open) and self._session is None:
            self._back.emit(
                up.Failed(message=str(error), exit_code=error.exit_code, kind=failure_kind(error))
            )
            return True
        self._back.emit(up.Notice(level="error", text=str(error)))
        return False

    async def _do(self, command: commands.Command) -> None:
        match command:
            case commands.Open():
                await self._open(command)
            case commands.NewSession():
                await self._open(replace(self._opened, resume="", fork=""))
            case commands.StartTour():
                await self._open(replace(self._opened, resume="", tour=True))
            case commands.SwitchModel():
                await self._switch(command.model)
            case commands.ListModels():
                current = self._session.model if self._session else ""
                self._back.emit(await self._home.models.listed(current))
            case commands.FetchBodies():
                self._bodies(command.ids)
            case commands.SaveDraft():
                self._save_draft(command.text)
            case _:
                await self._in_session(command)

    async def _in_session(self, command: commands.Command) -> None:
        if self._session is None:
            raise UsageError(READ_ONLY if self._reader else NO_SESSION)
        match command:
            case commands.Send():
                self._session.send(command)
            case commands.Continue():
                self._session.go_on()
            case commands.Interrupt():
                await self._session.interrupt()
            case commands.Answer():
                self._session.answer(command)
            case commands.SetMode():
                self._session.set_mode(command.mode)
            case commands.ClearWindow():
                await self._session.interrupt()
                self._session.clear()
            case _:
                raise AssertionError(command)

    @property
    def _home(self) -> Household:
        assert self._household is not None, "Open is the first command"
        return self._household

    def _draft(self, command: commands.Open) -> Draft:
        return Draft(Path(command.workspace), self._home.rooms.state, self._home.rooms.redactor)

    def _save_draft(self, text: str) -> None:
        """Keeps the prompt; a disk that refuses is told of once, not at every key."""
        try:
            self._draft(self._opened).save(text)
        except StoreError as error:
            if not self._draft_failed:
                self._draft_failed = True
                self._back.emit(up.Notice(level="warning", text=f"the draft is not kept: {error}"))

    def _prompt(self, command: commands.Open) -> tuple[str, tuple[str, ...]]:
        """The draft and the history; empty where the disk does not give them."""
        draft = self._draft(command)
        try:
            return draft.read(), draft.history()
        except StoreError as error:
            self._back.emit(up.Notice(level="warning", text=str(error)))
            return "", ()

    async def _open(self, command: commands.Open) -> None:
        """Opens what was asked for, and only then lets go of what was open."""
        self._household = self._household or self._assemble(command)
        if command.headless and self._home.loaded.errors:
            raise ConfigError("\n".join(str(error) for error in self._home.loaded.errors))
        if command.tour:
            command = await self._tour(command)
        found = self._found(command)
        if found is not None:
            await self._resume(command, found)
            return
        name = places.new_id(self._home.rooms.clock.now())
        target, warning = await self._target(command, name)
        if target is None:
            await self._leave_session()
            self._opened = command
            self._tell_opened(command, None, setup=self._home.models.setup())
            return
        folder = places.new_session(Path(command.workspace), self._home.rooms.state, name)
        opener = Opener(self._home.rooms, self._home.loaded, self._back.emit)
        self._begin(command, opener.new(command, folder, target), warning)

    def _found(self, command: commands.Open) -> Path | None:
        """The folder of the session to resume; `None` for a new one."""
        workspace, state = Path(command.workspace), self._home.rooms.state
        if command.resume == "last":
            for facts in sessions.list_sessions(workspace, state):
                if facts.first_message and places.created_here(facts.id, state):
                    return facts.folder
            text = "you have no earlier session in this folder: this is a new one"
            self._back.emit(up.Notice(level="info", text=text))
            return None
        return sessions.find(command.resume, workspace, state) if command.resume else None

    async def _resume(self, command: commands.Open, folder: Path) -> None:
        try:
            log, contents = Log.open(folder, self._home.rooms.clock, self._home.rooms.redactor)
        except SessionLocked as error:
            await self._leave_session()
            self._read_only(command, folder, error)
            return
        start = next((e for e in contents.events if isinstance(e, ev.SessionStart)), None)
        if start is not None:
            command = replace(command, workspace=_existing(start.workspace, command.workspace))
        target, warning = await self._target(
            _with_last_model(command, contents.events), folder.name
        )
        if target is None:
            log.close()
            raise ConfigError(self._home.models.setup())
        opener = Opener(self._home.rooms, self._home.loaded, self._back.emit)
        self._begin(command, opener.resumed(command, log, contents.events, target), warning)

    async def _target(self, command: commands.Open, session: str) -> tuple[Target | None, str]:
        found = await self._home.models.choose(command.model, session)
        return found.target, found.warning

    def _begin(self, command: commands.Open, session: Session, warning: str) -> None:
        previous, self._session, self._reader = self._session, session, None
        if previous is not None:
            self._closing.push_async_callback(previous.close)
        self._opened = command
        self._tell_opened(command, session)
        if warning:
            self._back.emit(up.Notice(level="warning", text=warning))
        session.tell_meter()

    def _read_only(self, command: commands.Open, folder: Path, error: SessionLocked) -> None:
        contents = Log.read(folder / places.LOG_NAME)
        self._reader, self._opened = Transcript(), command
        self._back.emit(
            up.Opened(
                session=folder.name,
                workspace=command.workspace,
                read_only=True,
                holder_pid=error.pid,
                log_path=str(folder / places.LOG_NAME),
            )
        )
        self._tell_entries(self._reader.load(contents.events))

    def _tell_opened(
        self, command: commands.Open, session: Session | None, setup: str = ""
    ) -> None:
        draft, history = self._prompt(command)
        ref = session.target.ref if session else None
        self._back.emit(
            up.Opened(
                session=session.name if session else "",
                workspace=command.workspace,
                branch=branch_of(Path(command.workspace)),
                model=ref.name if ref else "",
                server=ref.server if ref else "",
                provider=ref.provider if ref else "",
                mode=session.mode if session else "ask",
                strategy=session.target.strategy if session else "trim",
                theme=self._home.loaded.settings.ui.theme,
                draft="\n\n".join([*(session.undelivered() if session else ()), draft]).strip(),
                history=history,
                tour=command.tour,
                problems=tuple(
                    up.Problem(text=problem.text, warning=problem.warning)
                    for problem in self._home.loaded.problems
                ),
                setup=setup,
                log_path=str(session.log_path) if session else "",
            )
        )
        self._tell_entries(session.entries() if session else ())

    def _tell_entries(self, entries: Sequence[up.Entry]) -> None:
        pieces = [tuple(entries[at : at + PIECE]) for at in range(0, len(entries), PIECE)] or [()]
        for number, piece in enumerate(pieces, 1):
            self._back.emit(up.EntriesLoaded(entries=piece, done=number == len(pieces)))

    async def _tour(self, command: commands.Open) -> commands.Open:
        """Starts the tour's server in this process, and names its model and workspace."""
        if self._touring:
            return command
        self._touring = True
        server = await self._closing.enter_async_context(
            tour_server.TourServer(pace=0 if command.headless else tour_server.PACE)
        )
        rooms = self._home.rooms
        workspace = prepare_workspace(rooms.cache, places.new_id(rooms.clock.now()))
        choice = ModelChoice(
            name="tour",
            server_name="tour",
            server=ServerSettings(provider="ollama", base_url=server.base_url),
            model=ModelSettings(server="tour", model=tour_server.MODEL),
        )
        self._home.models.only(choice)
        return replace(command, workspace=str(workspace), model="")

    async def _switch(self, name: str) -> None:
        if self._session is None:
            if self._reader is not None:
                raise UsageError(READ_ONLY)
            await self._open(replace(self._opened, model=name))
            return
        if self._session.running:
            raise UsageError("the model can be changed once this run has ended (Esc stops it)")
        found = await self._home.models.choose(name, self._session.name)
        if found.target is None:
            raise ConfigError(self._home.models.setup())
        self._session.switch_model(found.target)
        if found.warning:
            self._back.emit(up.Notice(level="warning", text=found.warning))

    def _bodies(self, ids: Sequence[str]) -> None:
        transcript = self._session.transcript if self._session else self._reader
        for entry_id in ids:
            body = transcript.body(entry_id) if transcript else None
            if body is not None:
                self._back.emit(up.BodyLoaded(id=entry_id, body=body))

    async def _leave_session(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def _leave(self) -> str:
        """Closes everything; the session's id if there is something to resume."""
        name = self._session.name if self._session and not self._session.empty else ""
        await self._leave_session()
        await self._closing.aclose()
        return name


def _existing(recorded: str, asked: str) -> str:
    """A session goes on where it was, if that folder is still there."""
    return recorded if Path(recorded).is_dir() else asked


def _with_last_model(command: commands.Open, events: Sequence[ev.Event]) -> commands.Open:
    """A resumed session goes on with the model it last asked, unless another one is named."""
    if command.model:
        return command
    asked = [event.model.name for event in events if isinstance(event, ev.LlmRequest)]
    return replace(command, model=asked[-1]) if asked else command


def branch_of(workspace: Path) -> str:
    """The git branch checked out in a folder, '' where there is none."""
    try:
        head = (workspace / ".git" / "HEAD").read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""
    return head.removeprefix("ref: refs/heads/") if head.startswith("ref: ") else head[:10]
