"""The worker: takes commands, owns the session, tells events. The same object in a child process
under the screen, and in process under `nodwyn run` and the tests (AGT-1).
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from nodwyn_tui.agent.ending import failure_kind
from nodwyn_tui.agent.finding import FileFinder
from nodwyn_tui.agent.first_run import FirstRun
from nodwyn_tui.agent.greeting import greet
from nodwyn_tui.agent.inspecting import Inspector
from nodwyn_tui.agent.opening import Household, Opener
from nodwyn_tui.agent.pages import Pages
from nodwyn_tui.agent.session import Session
from nodwyn_tui.agent.settings_desk import SettingsDesk
from nodwyn_tui.agent.touring import Touring
from nodwyn_tui.config.entries import lead_with
from nodwyn_tui.errors import ConfigError, ConfigErrors, NodwynError, StoreError, UsageError
from nodwyn_tui.link import commands, settings, setup
from nodwyn_tui.link import events as up
from nodwyn_tui.link.images import Attach, AttachRefused, ConfirmImages
from nodwyn_tui.link.local import Back
from nodwyn_tui.link.requests import RequestCommand
from nodwyn_tui.store.draft import Draft

Fetching = commands.FetchBodies | commands.FetchPage | RequestCommand
"""What can be asked of a session that is only read, too."""

READ_ONLY = "this session is read-only here: another process writes it"
NO_SESSION = "no model is chosen yet: /model picks one"

AFTER_THIS_RUN = "the model can be changed once this run has ended (Esc stops it)"
STAYS_WITHOUT = (
    "this session began with a model that uses no tools, and goes on without them; /new begins one"
    " that has them"
)


class Worker:
    """Serves one front until it leaves."""

    def __init__(self, back: Back, assemble: Callable[[commands.Open], Household]) -> None:
        self._back, self._assemble = back, assemble
        self._session: Session | None = None
        self._reader: Pages | None = None
        self._household: Household | None = None
        self._opened = commands.Open(workspace=".")
        self._closing = AsyncExitStack()
        self._touring = Touring(self._closing)
        self._first_run = FirstRun(lambda: self._home, back.emit)
        self._listing: asyncio.Task[None] | None = None
        self._draft_failed = False
        self._settings: SettingsDesk | None = None
        self._files = FileFinder(Path(), back.emit)
        self._inspector = Inspector(back.emit)

    async def serve(self) -> None:
        """Takes commands until `Close`, until the front is gone or no session can be opened."""
        name = ""
        try:
            while (command := await self._next()) is not None:
                if isinstance(command, commands.Close):
                    break
                try:
                    await self._do(command)
                except NodwynError as error:
                    if self._refused(command, error):
                        return
            name = self._session.name if self._session and self._session.spoken else ""
        finally:
            await self._leave()
        self._back.emit(up.Closed(session=name))

    async def _next(self) -> commands.Command | None:
        """The next command; a bug in a run surfaces here."""
        if self._session is None:
            return await self._back.receive()
        receiving = asyncio.ensure_future(self._back.receive())
        crashed = self._session.runs.crashed
        either: tuple[asyncio.Future[Any], ...] = (receiving, crashed)
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if crashed.done():
                crashed.result()
            return await receiving
        finally:
            receiving.cancel()

    def _refused(self, command: commands.Command, error: NodwynError) -> bool:
        """Tells that a command failed; whether nothing can follow."""
        if isinstance(command, commands.Open) and self._session is None:
            each = tuple(map(str, error.errors)) if isinstance(error, ConfigErrors) else ()
            self._back.emit(
                up.Failed(
                    message=str(error),
                    exit_code=error.exit_code,
                    kind=failure_kind(error),
                    each=each,
                )
            )
            return True
        self._back.emit(up.Notice(level="error", text=str(error)))
        return False

    async def _do(self, command: commands.Command) -> None:
        match command:
            case commands.Open():
                await self._open(command)
            case commands.NewSession() | commands.StartTour():
                tour = self._opened.tour or isinstance(command, commands.StartTour)
                await self._open(replace(self._opened, resume="", tour=tour))
            case commands.SwitchModel():
                await self._switch(command.model)
            case commands.ListModels():
                self._list_models()
            case commands.SaveDraft() | commands.FindFiles() | Attach():
                self._of_the_prompt(command)
            case (
                setup.FindWays()
                | setup.ChooseModel()
                | setup.PullModel()
                | setup.StopPull()
                | setup.StartLocal()
            ):
                await self._set_up(command)
            case _ if isinstance(command, settings.SettingsCommand):
                self._desk.do(command)
            case _:
                await self._in_session(command)

    async def _set_up(self, command: setup.SetupCommand) -> None:
        """What a first run asks for."""
        match command:
            case setup.FindWays():
                self._first_run.find_ways()
            case setup.ChooseModel():
                await self._lead_with(command)
            case setup.PullModel():
                self._first_run.pull(command)
            case setup.StopPull():
                await self._first_run.stop_pull()
            case setup.StartLocal():
                self._first_run.start_local()
            case _:
                raise AssertionError(command)

    async def _in_session(self, command: commands.Command) -> None:
        """What is asked of the session that is open, or read."""
        if isinstance(command, Fetching):
            await self._fetch(command)
            return
        if self._session is None:
            raise UsageError(READ_ONLY if self._reader else NO_SESSION)
        match command:
            case commands.Send():
                self._session.runs.send(command)
            case commands.Continue():
                self._session.runs.go_on()
            case commands.Interrupt():
                await self._session.interrupt()
            case commands.Answer():
                await self._session.answer(command)
            case commands.SetMode():
                self._session.set_mode(command.mode)
            case commands.ShowMemory():
                self._session.show_memory(command)
            case ConfirmImages():
                self._session.confirm_images()
            case _:
                await self._in_window(self._session, command)

    async def _in_window(self, session: Session, command: commands.Command) -> None:
        """What changes the window, or tells of it."""
        match command:
            case commands.Compact():
                session.compact(command.wish)
            case (
                commands.AcceptCompaction() | commands.DropCompaction() | commands.UndoCompaction()
            ):
                session.settle_compaction(command)
            case commands.ListSkills() | commands.PickSkill():
                session.skills.do(command)
            case commands.ClearWindow():
                await session.interrupt()
                session.clear()
            case (
                commands.PriceEdit()
                | commands.EditWindow()
                | commands.ListMessages()
                | commands.TakeBack()
            ):
                session.edit(command)
            case _:
                raise AssertionError(command)

    @property
    def _home(self) -> Household:
        assert self._household is not None, "Open is the first command"
        return self._household

    @property
    def _desk(self) -> SettingsDesk:
        if self._settings is None:
            self._settings = SettingsDesk(self._home, lambda: self._session, self._back.emit)
        return self._settings

    async def _open(self, command: commands.Open) -> None:
        """Opens what was asked for; what was open before is closed first, so that its last events
        do not reach the new picture.
        """
        if self._household is None:
            self._household = self._assemble(command)
            models = self._household.models
            models.tell = self._starts
            self._closing.push_async_callback(models.local.close)
        if command.headless and self._home.loaded.errors:
            raise ConfigErrors(self._home.loaded.errors)
        if command.tour:
            command = await self._touring.enter(command, self._home)
        found = await Opener(self._home, self._back.emit).open(command)
        previous, self._session = self._session, found.session
        if previous is not None:
            await previous.close()
        self._opened = replace(found.command, resume="")
        await self._files.close()
        self._files = FileFinder(Path(self._opened.workspace), self._back.emit)
        self._inspector = Inspector(self._back.emit)
        self._reader = greet(found, self._home, self._back.emit)
        if self._reader is not None:
            self._closing.callback(self._reader.close)

    def _starts(self, status: str) -> None:
        """The small local model comes up."""
        self._back.emit(setup.LocalStarting(status=status))

    async def _switch(self, name: str) -> None:
        if self._session is None:
            if self._reader is not None:
                raise UsageError(READ_ONLY)
            await self._open(replace(self._opened, model=name))
            return
        if self._session.running:
            raise UsageError(AFTER_THIS_RUN)
        self._desk.follow()
        found = await self._home.models.choose(name, self._session.name)
        if found.target is None:
            raise self._home.models.missing()
        if found.target.tools != self._session.has_tools:
            if not self._session.spoken:  # nothing is lost by another catalogue yet
                await found.target.provider.aclose()
                await self._open(replace(self._opened, model=name))
                return
            if found.target.tools:
                self._back.emit(up.Notice(level="warning", text=STAYS_WITHOUT))
        if self._session.spoken and found.target.ref.name != self._session.model:
            text = f"{found.target.ref.name} {self._session.cold(found.target)}"
            self._back.emit(up.Notice(level="info", text=text))
        await self._session.switch_model(found.target)
        if found.warning:
            self._back.emit(up.Notice(level="warning", text=found.warning))

    async def _lead_with(self, chosen: setup.ChooseModel) -> None:
        """Writes which model leads, and goes on with it."""
        if self._touring.entered:
            raise UsageError("the tour has its own guide: leave it first (/quit), then choose")
        home = self._home
        if chosen.server not in home.loaded.servers:
            raise ConfigError(f"no server is called {chosen.server!r}; add it in config.toml first")
        if self._session is not None and self._session.running:
            raise UsageError(AFTER_THIS_RUN)
        name = lead_with(home.loaded, chosen.server, chosen.model)
        home.models.reload()
        self._opened = replace(self._opened, model="")
        await self._switch(name)

    def _of_the_prompt(self, command: commands.SaveDraft | commands.FindFiles | Attach) -> None:
        """Keeps a draft, finds files, or attaches images: that is answered in any case, since the
        front holds the text until it is.
        """
        if isinstance(command, commands.SaveDraft):
            self._save_draft(command)
            return
        if isinstance(command, commands.FindFiles):
            self._files.find(command.query)
            return
        if self._session is not None:
            self._session.runs.attachments.begin(command, self._session.runs.watch)
            return
        reason = (READ_ONLY if self._reader else NO_SESSION) if command.sure else ""
        self._back.emit(AttachRefused(text=command.text, reason=reason))

    def _list_models(self) -> None:
        """Asks the servers beside everything else: one that is down answers late, or never."""
        self._desk.follow()
        if self._listing is None or self._listing.done():
            self._listing = asyncio.create_task(self._listed())

    async def _listed(self) -> None:
        current = self._session.model if self._session else ""
        prompt = self._session.prompt_tokens if self._session else 0
        self._back.emit(await self._home.models.listed(current, prompt))

    def _save_draft(self, command: commands.SaveDraft) -> None:
        """Keeps the prompt; a disk that refuses is told of once, not at every key."""
        rooms = self._home.rooms
        try:
            draft = Draft(Path(self._opened.workspace), rooms.state, rooms.redactor)
            draft.save(command.text)
            if self._session is not None:
                draft.save_images(self._session.runs.attachments.chosen(command.images))
        except StoreError as error:
            if not self._draft_failed:
                self._draft_failed = True
                self._back.emit(up.Notice(level="warning", text=f"the draft is not kept: {error}"))

    async def _fetch(self, wanted: Fetching) -> None:
        """A part of the transcript, or of a request."""
        match wanted:
            case commands.FetchBodies():
                self._bodies(wanted.ids)
            case commands.FetchPage():
                self._page(wanted)
            case _ if self._pages is not None:
                await self._inspector.do(wanted, self._pages.archive)

    def _page(self, wanted: commands.FetchPage) -> None:
        """A page; none, and more to come, where the log can't be read just now."""
        if self._pages is None:
            return
        try:
            page = self._pages.fetch(wanted)
        except StoreError:
            none = up.PageLoaded(entries=(), before=wanted.before, after=wanted.after, more=True)
            self._back.emit(none)
            raise
        self._back.emit(page)

    @property
    def _pages(self) -> Pages | None:
        return self._session.pages if self._session else self._reader

    def _bodies(self, ids: Sequence[str]) -> None:
        for entry_id in ids:
            body = self._pages.transcript.body(entry_id) if self._pages else None
            if body is not None:
                self._back.emit(up.BodyLoaded(id=entry_id, body=body))

    async def _leave(self) -> None:
        """Closes everything, whatever of it fails."""
        async with self._closing:
            if self._listing is not None:
                self._listing.cancel()
            self._closing.push_async_callback(self._files.close)
            self._closing.push_async_callback(self._first_run.close)
            if self._session is not None:
                self._closing.push_async_callback(self._session.close)
            if self._settings is not None:
                self._closing.push_async_callback(self._settings.close)
