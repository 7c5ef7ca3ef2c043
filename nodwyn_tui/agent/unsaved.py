"""The file as it would be with changes that are not saved yet, read by the same rules (TUI-5)."""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nodwyn_tui.config.allowed import KeyPath, default_of
from nodwyn_tui.config.changes import Change, change, with_consequences
from nodwyn_tui.config.described import described
from nodwyn_tui.config.environment import Environment
from nodwyn_tui.config.files import Loaded, settings_of
from nodwyn_tui.config.problems import dotted
from nodwyn_tui.config.servers import built_in_servers
from nodwyn_tui.config.typed import kind_of, typed
from nodwyn_tui.errors import ConfigError, ConfigErrors
from nodwyn_tui.link.settings import SettingChange


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsaved:
    """`saved` are the file's values, `values` those with all `changes`, `loaded` what they give.
    `stopped` are the changes that cannot be made.
    """

    saved: Mapping[str, Any]
    values: Mapping[str, Any]
    changes: tuple[Change, ...]
    loaded: Loaded
    stopped: tuple[ConfigError, ...] = ()

    @property
    def paths(self) -> frozenset[KeyPath]:
        """What the changes change."""
        return frozenset(made.path for made in self.changes)

    def check(self, before: Loaded) -> None:
        """Raises `ConfigErrors` where a change is wrong, or makes something wrong that was right.
        What was wrong in the file already keeps nothing else from being saved (C72).
        """
        changed = {dotted(path) for path in self.paths}
        were = {(error.key, error.message) for error in before.errors}
        wrong = [
            error
            for error in self.loaded.errors
            if error.key in changed or (error.key, error.message) not in were
        ]
        if wrong or self.stopped:
            raise ConfigErrors([*self.stopped, *wrong])


def checked(
    saved: Mapping[str, Any], changes: Sequence[Change], file: Path, environment: Environment
) -> Unsaved:
    """The same as `unsaved`, for what is to be written: raises `ConfigErrors` where a change may
    not be.
    """
    made = unsaved(saved, changes, file, environment)
    made.check(unsaved(saved, (), file, environment).loaded)
    return made


def unsaved(
    saved: Mapping[str, Any], changes: Sequence[Change], file: Path, environment: Environment
) -> Unsaved:
    """A file's values with changes made on them, and with what follows from those."""
    made = with_consequences(saved, changes, built_in_servers(environment))
    values = copy.deepcopy(dict(saved))
    stopped = []
    for each in made:
        try:
            change(values, copy.deepcopy(each))
        except ConfigError as error:
            stopped.append(error)
    loaded = settings_of(copy.deepcopy(values), file, environment)
    return Unsaved(saved=saved, values=values, changes=made, loaded=loaded, stopped=tuple(stopped))


def changes_of(asked: Sequence[SettingChange]) -> tuple[Change, ...]:
    """What the person typed, as values of the file."""
    return tuple(Change(each.path, _value(each.path, each.value)) for each in asked)


def _value(path: KeyPath, text: str | None) -> Any:
    """The value that `text` means; blank text takes out what blank text cannot say."""
    if text is None or (not text.strip() and _is_unset(path)):
        return None
    return typed(path, text)


def _is_unset(path: KeyPath) -> bool:
    if kind_of(path) in ("number", "price", "choice", "switch"):
        return True
    about = described(path)
    return about is not None and not about.blank and default_of(path) is None and len(path) > 2
