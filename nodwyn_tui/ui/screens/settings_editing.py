"""Changing values in the settings: typed, switched, picked, returned to their defaults, undone, and
what an editor saved meanwhile (TUI-5).
"""

from collections.abc import Callable
from functools import partial

from textual import events
from textual.timer import Timer

from nodwyn_tui.link.settings import Setting
from nodwyn_tui.ui.screens.list_sheet import ListSheet
from nodwyn_tui.ui.screens.picker import Picker, Suggestions
from nodwyn_tui.ui.screens.settings_stage import THEME, SettingsStage
from nodwyn_tui.ui.widgets.field import Field
from nodwyn_tui.ui.widgets.pick_list import Choice
from nodwyn_tui.ui.widgets.setting_changes import Path
from nodwyn_tui.ui.widgets.setting_rows import SettingRow, said

REST_S = 0.12
"""What is typed is checked after a rest so long."""


class SettingsEditing(SettingsStage):
    """Each change is a step that Ctrl+Z takes back; none is written before it is saved."""

    _rest: Timer | None = None

    def change(self, values: dict[Path, str | None], at: Path | None = None) -> None:
        """Make a step, and have it checked."""
        if self.changes.put(values):
            self.changed(at)

    def changed(self, at: Path | None = None) -> None:
        """Draw what was changed, and have it checked; a remark about it as it was is over."""
        if self.notices.notice is not None and self.notices.notice.level != "info":
            self.notices.clear()
        self.draw(at)
        self.ask()

    def edit(self) -> None:
        """Change the marked value in the way of its kind."""
        row = self.row
        if row is None or self._refuses(row):
            return
        value = self.changes.shown(row)
        if row.kind == "switch":
            self.change({row.path: "false" if value == "true" else "true"})
        elif choices := self._choices(row):
            picks = [Choice(each, said(row, each), current=each == value) for each in choices]
            picker = Suggestions if row.kind == "text" else Picker
            self.app.push_screen(picker(row.label, picks), partial(self._picked, row.path))
        elif row.kind == "list":
            sheet = ListSheet(row.label, value)
            self.app.push_screen(sheet, partial(self._listed, row.path))
        else:
            self.field = Field(value)
            self.draw()

    def cycle(self, step: int) -> bool:
        """Go on to the next choice, or the one before; whether the row has any."""
        row = self.row
        if row is None or row.why_not:
            return False
        if row.kind == "switch":
            self.edit()
            return True
        choices = self._choices(row)
        if not choices:
            return False
        value = self.changes.shown(row)
        at = choices.index(value) + step if value in choices else 0
        self.change({row.path: choices[at % len(choices)]})
        return True

    def action_default(self) -> None:
        """Have the marked value's default count again."""
        row = self.row
        if not self.at_rows or row is None:
            return
        if self.changes.reset(row.path):
            self.changed()
        else:
            self.tell("info", f"{row.label} is at its default already: nothing of it is set")

    def action_undo(self) -> None:
        """Take the last change back."""
        self._stepped(self.changes.undo, "nothing to undo")

    def action_redo(self) -> None:
        """Make the change again that was taken back."""
        self._stepped(self.changes.redo, "nothing to do again")

    def action_mine(self) -> None:
        """Where an editor saved another value: have the person's own written over it."""
        if (row := self.row) is not None and row.path in self.changes.conflicts:
            self.changes.keep_mine(row.path)
            self.decided()

    def action_theirs(self) -> None:
        """Have the editor's value stay."""
        if (row := self.row) is not None and row.path in self.changes.conflicts:
            self.changes.take_theirs(row.path)
            self.decided()

    def decided(self) -> None:
        """A conflict is; on to the next one."""
        self.draw()
        self.ask()
        if self.changes.conflicts:
            self.to_row(next(iter(self.changes.conflicts)))

    def to_row(self, path: Path) -> None:
        """Mark a row, on whatever page it stands."""
        self.query_field = Field()
        self.looking = False
        for group in self.groups:
            if any(row.path == path for row in group.rows):
                self.page = (group.kind, group.name)
                self.at_rows = True
                self.draw(path)

    def take_key(self, event: events.Key) -> bool:
        """A key while a value is typed; whether it was one for that."""
        field = self.field
        if field is None:
            return False
        if event.key in ("escape", "ctrl+c"):
            self._end_edit(keep=False)
        elif event.key in ("enter", "ctrl+s"):
            self._end_edit(keep=True)
        elif event.key in ("tab", "down", "up", "shift+tab"):
            self._end_edit(keep=True)
            self.rows.move(1 if event.key in ("tab", "down") else -1)
            self.touch()
        elif field.take(event):
            self._typed()
        return True

    def paste(self, text: str) -> None:
        """Text from the clipboard into what is being typed."""
        if self.field is not None:
            self.field.insert(text)
            self._typed()

    def _end_edit(self, *, keep: bool) -> None:
        row, typed = self.row, self.typed
        field, self.field = self.field, None
        if self._rest is not None:
            self._rest.stop()
        if row is not None and keep and field and field.text.strip() != field.begun:
            self.changes.put({row.path: typed})
        self.changed()

    def _typed(self) -> None:
        """Show what is typed, and have it checked at the next rest."""
        self.rows.viewport.changed(self.rows.at)
        self.rows.see()
        if self._rest is not None:
            self._rest.stop()
        self._rest = self.set_timer(REST_S, self.ask)

    def _stepped(self, step: Callable[[], bool], why_not: str) -> None:
        """Take a step, and go to where it was."""
        before = self.changes.values
        if not step():
            self.tell("info", why_not)
            return
        now = self.changes.values
        others = (path for path in {**before, **now} if before.get(path, "") != now.get(path, ""))
        path = next(others, ())
        if path in now or self.changes.in_file(path) is not None:
            self.to_row(path)
        self.changed()

    def _refuses(self, row: Setting) -> bool:
        if row.why_not:
            self.tell("warning", f"{row.label} does not apply: {row.why_not}")
        return bool(row.why_not)

    def _choices(self, row: Setting) -> tuple[str, ...]:
        """What there is to choose from; of themes, those that the screen has."""
        if row.path == THEME:
            themes = [name for name in self.app.available_themes if "ansi" not in name]
            return tuple(sorted(themes, key=lambda name: (not name.startswith("nodwyn"), name)))
        return row.choices

    def _picked(self, path: Path, name: str | None) -> None:
        if name:
            self.change({path: name}, path)

    def _listed(self, path: Path, text: str | None) -> None:
        row = next((r for r in self._rows_shown() if r.path == path), None)
        if text is not None and row is not None and text != self.changes.shown(row):
            self.change({path: text if text or row.default else None}, path)

    def _rows_shown(self) -> list[Setting]:
        return [each.setting for each in self.rows.listed if isinstance(each, SettingRow)]
