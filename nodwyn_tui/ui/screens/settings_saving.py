"""What the worker answers to the settings: another picture of the file, that it is saved, or why it
is not; and what becomes of changes on leaving (TUI-5).
"""

from typing import assert_never

from nodwyn_tui.link import settings as up
from nodwyn_tui.ui.screens.settings_models import SettingsModels
from nodwyn_tui.ui.screens.settings_stage import THEME
from nodwyn_tui.ui.widgets.keys import keys_of
from nodwyn_tui.ui.widgets.setting_rows import how_to_decide


class SettingsSaving(SettingsModels):
    """All changes are saved as a set, or none is."""

    _saving = False
    _leaves = False
    """Once all is saved."""

    def take(self, event: up.SettingsEvent) -> None:
        """What the worker answers."""
        match event:
            case up.SettingsShown():
                self._shown(event)
            case up.SettingsSaved():
                self._saved(event)
            case up.SettingsRefused(reason=reason):
                self._saving = self._leaves = False
                self.tell("error", f"nothing was saved: {reason}")
            case up.TrialPriced() | up.TrialStep() | up.TrialEnded():
                self.tried(event)
            case up.ServerModelsListed():
                self.listed(event)
            case up.CredentialKept():
                self.kept(event)
            case _:
                assert_never(event)

    def action_save(self) -> None:
        """Save all changes."""
        if not len(self.changes):
            self.tell("info", "nothing to save: your file says all of it already")
        elif conflicts := self.changes.conflicts:
            self._leaves = False
            self.to_row(next(iter(conflicts)))
            how = how_to_decide(keys_of(self))
            self.tell("warning", f"an editor saved another value here: {how} it")
        elif wrong := [row for row in self._changed() if row.problem]:
            self._leaves = False
            self.to_row(wrong[0].path)
            self.tell("error", f"not saved yet: {wrong[0].label}: {wrong[0].problem}")
        elif not self._saving:
            self._saving = True
            self.tell_worker(self.changes.saving())

    def decided(self) -> None:
        """Once the last conflict is, what was being saved is."""
        super().decided()
        if not self.changes.conflicts and len(self.changes):
            self.action_save()

    def lost(self) -> None:
        """The worker is gone: what it was doing is over."""
        self._saving = self._leaves = False
        super().lost()

    def found_again(self) -> None:
        """Another worker is there, or another session."""
        self.notices.clear()
        self.ask()

    def _shown(self, event: up.SettingsShown) -> None:
        self.picture = event
        self.changes.told(event)
        self.draw()
        if self._saving and self.changes.conflicts:
            self._saving = self._leaves = False
            self.action_save()

    def _saved(self, event: up.SettingsSaved) -> None:
        self._saving = False
        self.changes.saved(event.version)
        noun = "change" if event.count == 1 else "changes"
        text = "; ".join((f"saved {event.count} {noun}", *event.later))
        if self._leaves:
            self.dismiss(text)
            return
        self.tell("info", text, "\n".join(event.later))
        self.draw()
        self.ask()

    def _changed(self) -> list[up.Setting]:
        rows = (row for group in self.groups for row in group.rows)
        return [row for row in rows if row.path in self.changes.values]

    def unsaved(self) -> str:
        """How many changes are not saved, in words."""
        count = (self.picture.unsaved if self.picture else 0) or len(self.changes)
        return "1 change is not saved." if count == 1 else f"{count} changes are not saved."

    def left(self, reply: str | None) -> None:
        """Leave, as was answered."""
        if reply == "s":
            self._leaves = True
            self.action_save()
        elif reply == "t":
            theme = self.changes.in_file(THEME)
            self.changes.throw_away()
            self.wear(theme or "")
            self.dismiss("")
