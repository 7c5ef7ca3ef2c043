"""Where a front's settings are looked at, changed and saved (TUI-5).

What the file may hold is `config`'s to say, and what the rows say `settings.py`'s.
"""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any

from nodwyn_tui.agent.conversation import Emit
from nodwyn_tui.agent.model_desk import ModelDesk
from nodwyn_tui.agent.models import Models
from nodwyn_tui.agent.opening import Household
from nodwyn_tui.agent.renewal import Renewal
from nodwyn_tui.agent.session import Session
from nodwyn_tui.agent.settings import Shown, prefix_of
from nodwyn_tui.agent.unsaved import Unsaved, changes_of, checked, unsaved
from nodwyn_tui.config.allowed import KeyPath
from nodwyn_tui.config.changes import Change, overtaken
from nodwyn_tui.config.credentials import clean_key
from nodwyn_tui.config.described import described
from nodwyn_tui.config.files import parse, read_text
from nodwyn_tui.config.own_keys import OwnKeys
from nodwyn_tui.config.problems import dotted
from nodwyn_tui.config.saving import save_changes
from nodwyn_tui.domain.canonical import sha256
from nodwyn_tui.errors import ConfigError, ConfigErrors, StoreError
from nodwyn_tui.link import settings as up

REMEMBERED = 64
"""Versions of the file that a change can have been made on."""

UNKNOWN_SERVER = "no server is called {server!r}: save it first, then its key"

CHANGED = (
    "an editor changed {table} meanwhile, so it was not taken out: take that change back, look,"
    " and remove it again"
)


class Overtaken(Exception):
    """An editor set some of the changed keys otherwise meanwhile; `theirs` stands there now."""

    def __init__(self, theirs: Mapping[KeyPath, Any]) -> None:
        self.theirs = theirs
        super().__init__()


class SettingsDesk:
    """Shows and saves; what was saved, the household and the open session take over."""

    def __init__(
        self, household: Household, session: Callable[[], Session | None], emit: Emit
    ) -> None:
        self._home, self._session, self._emit = household, session, emit
        self._renewal = Renewal(household, session, emit, self._begin)
        self._file = household.loaded.file
        self._texts: dict[str, str] = {}
        self._tasks = set[asyncio.Task[None]]()
        self._saving: asyncio.Task[None] | None = None
        self._changes: tuple[Change, ...] = ()
        self._told: up.SettingsShown | None = None
        self._servers = ModelDesk(self._models, household.rooms, emit, self._begin)
        self._prefix = prefix_of(household.rooms)

    def do(self, command: up.SettingsCommand) -> None:
        """What the front asks for."""
        match command:
            case up.ShowSettings():
                self.show(command.changes)
            case up.SaveSettings():
                self._saving = self._begin(self._saved_after(self._saving, command))
            case up.SetCredential():
                self._begin(self._set_credential(command))
            case up.TestModel():
                self._servers.try_out(command)
            case up.StopTrial():
                self._servers.stop()
            case up.ListServerModels():
                self._servers.list_models(command.server)

    def show(self, changes: Sequence[up.SettingChange]) -> None:
        """Tells the file as it would be with the changes."""
        self._tell(changes_of(changes), {})
        self._servers.learn(self._home.models, self._tell_news)

    def _tell_news(self) -> None:
        """Tells the same again, where a server knew something."""
        shown = self._shown(self._changes, {})
        if shown != self._told:
            self._told = shown
            self._emit(shown)

    def _models(self) -> Models:
        """Those by the settings as they would be with the changes shown last."""
        models = self._home.models
        if not self._changes:
            return models
        try:
            values = parse(read_text(self._file), self._file)
        except ConfigError:  # which the settings shown have told
            return models
        return models.by(self._unsaved(values, self._changes).loaded)

    async def _saved_after(
        self, earlier: "asyncio.Task[None] | None", wanted: up.SaveSettings
    ) -> None:
        """Saves once an earlier save is done."""
        if earlier is not None:
            await asyncio.wait([earlier])
        await self.save(wanted)

    async def save(self, wanted: up.SaveSettings) -> None:
        """Writes the changes, all or none, and tells what came of it."""
        changes = changes_of(wanted.changes)
        try:
            text = await asyncio.to_thread(
                save_changes, self._file, lambda values: self._plan(values, changes, wanted)
            )
        except Overtaken as stopped:
            if tables := [dotted(path) for path in stopped.theirs if described(path) is None]:
                self._emit(up.SettingsRefused(reason=CHANGED.format(table=", ".join(tables))))
            self._tell(changes, stopped.theirs)
            return
        except ConfigErrors as error:
            self._emit(up.SettingsRefused(reason="\n".join(str(each) for each in error.errors)))
            self._tell(changes, {})
            return
        except (ConfigError, StoreError) as error:
            self._emit(up.SettingsRefused(reason=str(error)))
            return
        later = _later(changes)
        later += self._renewal.take()
        self._emit(
            up.SettingsSaved(
                version=self._remember(text), count=len(wanted.changes), later=tuple(later)
            )
        )
        self._tell((), {})

    async def close(self) -> None:
        """Ends what goes on beside; what is being saved is saved first."""
        if self._saving is not None:
            await asyncio.wait([self._saving])
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    def follow(self) -> None:
        """Takes over what an editor wrote, where it names models that nobody knows here yet."""
        if self._home.models.written_since():
            self._renewal.take()

    def _begin(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Something that may take long, beside everything else. A bug in it ends the worker, as one
        in a run does.
        """
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        if session := self._session():
            task.add_done_callback(session.runs.watch)
        return task

    async def _set_credential(self, wanted: up.SetCredential) -> None:
        """Keeps or forgets a server's key; it is told as where it is, never as what it is."""
        models, name = self._home.models, wanted.server
        server = models.loaded.servers.get(name)
        if server is None:
            self._emit(up.CredentialKept(server=name, error=UNKNOWN_SERVER.format(server=name)))
            return
        models.connector.hold(wanted.key.strip())
        keys = OwnKeys(self._file, models.connector.credentials.keychain)
        try:
            if wanted.key:
                place = await asyncio.to_thread(
                    keys.keep, name, server.credential, wanted.kept_in, wanted.key
                )
                models.connector.hold(clean_key(wanted.key, place))
            else:
                await asyncio.to_thread(keys.forget, name, server.credential)
                place = ""
        except (ConfigError, StoreError) as error:
            self._emit(up.CredentialKept(server=name, error=str(error)))
            return
        self._renewal.take(new_key=name)
        self._emit(up.CredentialKept(server=name, place=place))

    def _plan(
        self, values: Mapping[str, Any], changes: Sequence[Change], wanted: up.SaveSettings
    ) -> Sequence[Change]:
        """What is to be written over the values that stand in the file now. Raises `Overtaken`, and
        `ConfigErrors` for what may not stand there.
        """
        text = self._texts.get(wanted.version)
        base = None if text is None else parse(text, self._file)
        theirs = {} if wanted.over else overtaken(base, values, changes)
        if theirs:
            raise Overtaken(theirs)
        return checked(values, changes, self._file, self._home.models.environment).changes

    def _tell(self, changes: tuple[Change, ...], theirs: Mapping[KeyPath, Any]) -> None:
        self._changes = changes
        self._told = self._shown(changes, theirs)
        self._emit(self._told)

    def _shown(self, changes: Sequence[Change], theirs: Mapping[KeyPath, Any]) -> up.SettingsShown:
        problems: tuple[str, ...] = ()
        version, values = "", dict[str, Any]()
        try:
            text = read_text(self._file)
            version = self._remember(text)
            values = parse(text, self._file)
        except ConfigError as error:
            problems = (str(error),)
        shown = Shown(
            unsaved=self._unsaved(values, changes),
            environment=self._home.models.environment,
            facts=self._home.models.facts_of,
            prefix=self._prefix,
            theirs=theirs,
        )
        groups = shown.groups()
        return up.SettingsShown(
            file=str(self._file),
            version=version,
            groups=groups,
            problems=(*problems, *shown.problems()),
            unsaved=len(changes),
        )

    def _unsaved(self, values: Mapping[str, Any], changes: Sequence[Change]) -> Unsaved:
        return unsaved(values, changes, self._file, self._home.models.environment)

    def _remember(self, text: str) -> str:
        """The text's version, and from now on what stood in it."""
        version = sha256(text.encode("utf-8"))
        self._texts.pop(version, None)
        self._texts[version] = text
        while len(self._texts) > REMEMBERED:
            del self._texts[next(iter(self._texts))]
        return version


def _later(changes: Sequence[Change]) -> list[str]:
    """What takes effect when, where not at once."""
    found: dict[str, list[str]] = {}
    for made in changes:
        about = described(made.path)
        if about is not None and about.later:
            found.setdefault(about.later, []).append(dotted(made.path))
    return [f"{', '.join(keys)}: {when}" for when, keys in found.items()]
