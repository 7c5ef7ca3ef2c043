"""The settings as a front shows them: a group for each model and server, and for each other part of
the file, with what counts, where it is from, what it does, and what is wrong (TUI-5).
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

from nodwyn_tui.agent.assembly import Rooms
from nodwyn_tui.agent.prompt import SYSTEM
from nodwyn_tui.agent.setting_defaults import (
    Default,
    OfModel,
    entry_of,
    plain_default,
    server_default,
)
from nodwyn_tui.agent.setting_limits import NOBODY, ServedBy, choices, why_not
from nodwyn_tui.agent.unsaved import Unsaved
from nodwyn_tui.config.allowed import KeyPath
from nodwyn_tui.config.changes import MISSING, value_at
from nodwyn_tui.config.credentials import credential_fault
from nodwyn_tui.config.described import PAGES, Described
from nodwyn_tui.config.environment import Environment
from nodwyn_tui.config.models import servers_with_key
from nodwyn_tui.config.problems import dotted
from nodwyn_tui.config.schema import ServerSettings
from nodwyn_tui.config.servers import built_in_servers
from nodwyn_tui.config.typed import as_typed, kind_of
from nodwyn_tui.errors import ConfigError
from nodwyn_tui.link.settings import Setting, SettingsGroup
from nodwyn_tui.providers.facts import ModelFacts
from nodwyn_tui.window.entries import fixed_tokens

TITLES = {
    "general": "Which model",
    "window": "Window",
    "approvals": "Approvals",
    "limits": "Limits of a run",
    "appearance": "Appearance",
    "keys": "Keys",
}

Facts = Callable[[str, ServerSettings, str], tuple[ModelFacts, ModelFacts]]
"""What a server's listing, as far as it was asked for, and the data that comes along say of a
model: by the server's name, its settings and the model's id."""


def prefix_of(rooms: Rooms) -> int:
    """Tokens that every request of a session begins with, but for instructions of the workspace."""
    return fixed_tokens(SYSTEM, tuple(tool.spec for tool in rooms.make_tools({})))


@dataclass(slots=True)
class Shown:
    """The groups of one picture of the settings, and its problems of no row. `theirs` is what an
    editor set otherwise meanwhile; `prefix` as in `OfModel`.
    """

    unsaved: Unsaved
    environment: Environment
    facts: Facts
    prefix: int
    theirs: Mapping[KeyPath, Any] = field(default_factory=dict)
    _told: dict[str, list[ConfigError]] = field(init=False)
    _known: Mapping[str, ServerSettings] = field(init=False)

    def __post_init__(self) -> None:
        self._known = built_in_servers(self.environment)
        self._told = {}
        errors = (problem.error for problem in self.unsaved.loaded.problems)
        for error in (*self.unsaved.stopped, *errors):
            self._told.setdefault(error.key, []).append(error)

    def groups(self) -> tuple[SettingsGroup, ...]:
        """All of them, in the order of their pages."""
        return tuple(self._groups())

    def problems(self) -> tuple[str, ...]:
        """What no row of `groups` has told; ask after it."""
        return tuple(str(error) for errors in self._told.values() for error in errors)

    def _groups(self) -> Iterator[SettingsGroup]:
        yield self._group("general")
        for name in self._names("models"):
            yield self._model(name)
        for name in self._servers():
            yield self._server(name)
        for page in ("window", "approvals", "limits", "appearance", "keys"):
            yield self._group(page)

    def _group(self, page: str) -> SettingsGroup:
        """A part that is there once."""
        served = NOBODY if page != "window" else ServedBy.all_of(self.unsaved.loaded.settings)
        rows = tuple(
            self._row(each, each.path, plain_default(each), served) for each in PAGES[page]
        )
        return SettingsGroup(kind=cast("Any", page), title=TITLES[page], rows=rows)

    def _model(self, name: str) -> SettingsGroup:
        loaded = self.unsaved.loaded
        entry = entry_of(self._table("models"), name, loaded.settings.models.get(name))
        server = loaded.servers.get(entry.server)
        rows = self._with_own_problems(("models", name), self._model_rows(name, server))
        lead = loaded.settings.model or next(iter(loaded.settings.models), None)
        return SettingsGroup(
            kind="model",
            name=name,
            title=dotted((name,)),
            note=f"{entry.model} on {entry.server}",
            mark="lead" if name == lead else "fallback" if self._falls_back(name) else "",
            rows=rows,
            fresh=value_at(self.unsaved.saved, ("models", name)) is MISSING,
        )

    def _falls_back(self, name: str) -> bool:
        return bool(name) and self.unsaved.loaded.settings.fallback == name

    def _model_rows(self, name: str, server: ServerSettings | None) -> Iterator[Setting]:
        loaded = self.unsaved.loaded
        entry = entry_of(self._table("models"), name, loaded.settings.models.get(name))
        behind, served = None, NOBODY
        if server is not None:
            listed, shipped = self.facts(entry.server, server, entry.model)
            window = loaded.settings.window
            behind = OfModel(
                entry=entry,
                server=server,
                listed=listed,
                shipped=shipped,
                window=window,
                window_file=self._table("window"),
                prefix=self.prefix,
            )
            served = ServedBy.of(entry, server, window)
        for each in PAGES["model"]:
            default = behind.default(each) if behind else plain_default(each)
            row = self._row(each, each.of(name), default, served)
            yield replace(row, help=behind.help(each)) if behind else row

    def _server(self, name: str) -> SettingsGroup:
        server, known = self.unsaved.loaded.servers.get(name), self._known.get(name)
        served = ServedBy(provider=server.provider if server else None)
        rows = (
            self._row(each, each.of(name), server_default(each, known, self.environment), served)
            for each in PAGES["server"]
        )
        return SettingsGroup(
            kind="server",
            name=name,
            title=dotted((name,)),
            note=self._key_of(server),
            rows=self._with_own_problems(("servers", name), rows),
            fresh=known is None and value_at(self.unsaved.saved, ("servers", name)) is MISSING,
        )

    def _with_own_problems(self, entry: KeyPath, rows: Iterator[Setting]) -> tuple[Setting, ...]:
        """The rows of an entry. What is wrong with the entry itself stands on the row of the key
        that it misses, else on the first.
        """
        found = list(rows)
        for error in self._told.pop(dotted(entry), ()):
            missing = error.allowed.partition(" = ")[0]
            at = next((n for n, row in enumerate(found) if row.path[-1] == missing), 0)
            problem = "; ".join(filter(None, (found[at].problem, self._said(error))))
            found[at] = replace(found[at], problem=problem)
        return tuple(found)

    def _key_of(self, server: ServerSettings | None) -> str:
        """Where a server's key comes from, and whether it is there, as far as that is told at once:
        a keyring may have to be unlocked first.
        """
        kind, _, place = (server.credential if server else "").partition(":")
        match kind:
            case "":
                return "needs no key, or names none"
            case "env":
                there = bool(self.environment.get(place.strip()).strip())
                return f"key in {place.strip()}" if there else f"{place.strip()} is not set"
            case "command":
                return "key from a command, run when needed"
            case "oauth":
                return "signs in with a browser"
            case _:
                return f"key in the {kind}"

    def _servers(self) -> list[str]:
        """The person's own, those with a key, those that a model is on, and Ollama."""
        loaded = self.unsaved.loaded
        used = [entry.server for entry in loaded.settings.models.values()]
        keyed = servers_with_key(loaded, self.environment)
        found = dict.fromkeys([*self._names("servers"), "ollama", *used, *keyed])
        return [name for name in found if name in loaded.servers or name in self._table("servers")]

    def _names(self, table: str) -> list[str]:
        return [name for name, each in self._table(table).items() if isinstance(each, Mapping)]

    def _table(self, key: str) -> Mapping[str, Any]:
        found = self.unsaved.values.get(key)
        return found if isinstance(found, Mapping) else {}

    def _row(
        self,
        about: Described,
        path: KeyPath,
        default: Default,
        served: ServedBy = NOBODY,
    ) -> Setting:
        raw = value_at(self.unsaved.values, path)
        there = raw is not MISSING and raw is not None
        changed = path in self.unsaved.paths
        theirs = self.theirs.get(path)
        is_server = about.key == "server"
        return Setting(
            path=path,
            label=about.label,
            kind="choice" if is_server else kind_of(about.path),
            help=about.help,
            value=_safe(about, raw) if there else default.value,
            default=default.value,
            origin="changed" if changed else "file" if there else default.origin,
            source="" if there else default.source,
            choices=(offered := self._choices(about, served)),
            meanings=tuple(about.options.get(choice, "") for choice in offered)
            if about.options
            else (),
            why_not=why_not(about, served),
            problem="; ".join(self._said(each) for each in self._told.pop(dotted(path), ())),
            theirs=None if theirs is None else _safe(about, None if theirs is MISSING else theirs),
            later=about.later,
        )

    def _choices(self, about: Described, served: ServedBy) -> tuple[str, ...]:
        """What may be chosen; names of the person's where the setting is one."""
        match about.key:
            case "server":
                return tuple(self.unsaved.loaded.servers)
            case "model" | "fallback" if len(about.path) == 1:
                return tuple(self._names("models"))
            case _:
                return choices(about, served)

    @staticmethod
    def _said(error: ConfigError) -> str:
        found = f" (found {error.found})" if error.found else ""
        return f"{error.message}{found}" + (f"; allowed: {error.allowed}" if error.allowed else "")


def _safe(about: Described, value: object) -> str:
    """A value as one types it, but for a key that somebody put in a place's stead."""
    text = as_typed(value)
    if about.key == "credential" and text and credential_fault(text):
        return ""
    return "" if about.key == "base_url" and "@" in text else text
