"""A front's half of the settings, as a test drives it."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nodwyn_tui.link.settings import (
    SaveSettings,
    Setting,
    SettingChange,
    SettingsGroup,
    SettingsRefused,
    SettingsSaved,
    SettingsShown,
    ShowSettings,
)
from tests.agent.rig import Rig


def changed(*path: str, to: str | None) -> SettingChange:
    return SettingChange(path=path, value=to)


def group(shown: SettingsShown, kind: str, name: str = "") -> SettingsGroup:
    return next(each for each in shown.groups if (each.kind, each.name) == (kind, name))


def row(shown: SettingsShown, *path: str) -> Setting:
    return next(row for group in shown.groups for row in group.rows if row.path == path)


class Settings:
    """A front's half of the settings."""

    def __init__(self, rig: Rig) -> None:
        self.rig = rig

    @property
    def file(self) -> Path:
        return self.rig.home / "config.toml"

    @property
    def values(self) -> Mapping[str, Any]:
        return tomllib.loads(self.file.read_text(encoding="utf-8"))

    async def show(self, *changes: SettingChange) -> SettingsShown:
        self.rig.tell(ShowSettings(changes=changes))
        return await self.rig.until(SettingsShown)

    async def save(
        self, shown: SettingsShown, *changes: SettingChange, over: bool = False
    ) -> SettingsSaved | SettingsRefused | SettingsShown:
        self.rig.tell(SaveSettings(changes=changes, version=shown.version, over=over))
        kinds = (SettingsSaved, SettingsRefused, SettingsShown)
        answer = await self.rig.until(object, _answers)
        assert isinstance(answer, kinds)
        if isinstance(answer, SettingsSaved):
            after = await self.rig.until(SettingsShown)
            assert after.version == answer.version
            assert after.unsaved == 0
        return answer


def _answers(event: object) -> bool:
    """Whether it says what became of a save: a picture does where it tells of a conflict."""
    if isinstance(event, SettingsShown):
        return any(row.theirs is not None for group in event.groups for row in group.rows)
    return isinstance(event, SettingsSaved | SettingsRefused)
