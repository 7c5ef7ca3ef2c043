"""The settings screen: its keys, looking for settings, saving and leaving (TUI-5).

It is imported when it is opened for the first time (PERF-1); nothing else may import it.
"""

from typing import ClassVar

from textual import events
from textual.binding import BindingType

from nodwyn_tui.ui.screens.help import KeyHelp
from nodwyn_tui.ui.screens.question import Question, Reply
from nodwyn_tui.ui.screens.settings_saving import SettingsSaving
from nodwyn_tui.ui.screens.settings_stage import ADDING
from nodwyn_tui.ui.screens.sheet import Sheet
from nodwyn_tui.ui.widgets.field import Field
from nodwyn_tui.ui.widgets.footer import Hint
from nodwyn_tui.ui.widgets.keys import Keys, bound, keys_of, run_binding
from nodwyn_tui.ui.widgets.lines import Line, Span, wrap
from nodwyn_tui.ui.widgets.listing import Listing
from nodwyn_tui.ui.widgets.notices import NoticeBar
from nodwyn_tui.ui.widgets.visible import one_line


class SettingsScreen(SettingsSaving, inherit_bindings=False):
    """Every key of it is a binding; its help lists them from there."""

    BINDINGS: ClassVar[list[BindingType]] = [
        bound("settings_up", "move(-1)"),
        bound("settings_down", "move(1)"),
        bound("settings_page_up", "move(-10)"),
        bound("settings_page_down", "move(10)"),
        bound("settings_first", "move(-9999)"),
        bound("settings_last", "move(9999)"),
        bound("settings_side", "other_side"),
        bound("settings_enter", "enter"),
        bound("settings_turn", "turn"),
        bound("settings_right", "sideways(1)"),
        bound("settings_left", "sideways(-1)"),
        bound("settings_default", "default"),
        bound("settings_undo", "undo"),
        bound("settings_redo", "redo"),
        bound("settings_save", "save"),
        bound("settings_look", "look"),
        bound("settings_add", "add"),
        bound("settings_lead", "lead"),
        bound("settings_fallback", "fallback"),
        bound("settings_test", "test"),
        bound("settings_remove", "remove"),
        bound("settings_key", "key"),
        bound("settings_mine", "mine"),
        bound("settings_theirs", "theirs"),
        bound("settings_reload", "reload"),
        bound("settings_help", "help"),
        bound("settings_details", "details"),
        bound("settings_back", "back"),
    ]

    def hints(self) -> list[Hint]:
        """The keys that matter now, what matters most first."""
        return [(key, does) for key, does in self._hints(keys_of(self)) if key]

    def _hints(self, keys: Keys) -> list[Hint]:
        def of(name: str, does: str) -> Hint:
            return keys.short(f"settings_{name}"), does

        if self.field is not None:
            return [("Enter", "take it"), ("Esc", "leave it as it was")]
        if self.looking:
            return [("↓ Enter", "to what was found"), ("Esc", "all settings")]
        save = [of("save", "save"), of("undo", "undo")] if len(self.changes) else []
        tail: list[Hint] = [("Esc", "leave"), of("help", "help"), of("look", "find")]
        if self.at_rows:
            row = self.row
            if row is not None and row.path in self.changes.conflicts:
                return [of("mine", "keep yours"), of("theirs", "use the editor's"), *save]
            what = [("Enter", "change")] if row is not None and not row.why_not else []
            default = [of("default", "default")] if row is not None and row.origin in _OWN else []
            return [*what, *default, *save, ("Tab", "list"), *tail]
        if self.page in ADDING:
            return [("Enter", "add"), *save, *tail]
        kind = self.group.kind if self.group is not None else ""
        hints: list[Hint] = [("Enter", "change"), *save, *tail[:2]]
        if kind in ("model", "server"):
            hints.append(of("add", "add"))
        if kind == "model":
            hints += [of("test", "test"), of("lead", "lead"), of("fallback", "fallback")]
        if kind in ("model", "server"):
            hints += [of("key", "key"), of("remove", "remove")]
        return [*hints, *tail[2:]]

    async def on_key(self, event: events.Key) -> None:
        """Here, so that keys act in the order in which they came."""
        event.stop()
        event.prevent_default()
        if self.take_key(event):
            self.footer.show_keys(self.hints())
        elif not (self.looking and self._look_on(event)):
            await run_binding(self, event)

    def on_paste(self, event: events.Paste) -> None:
        event.stop()
        if self.looking:
            self.query_field.insert(event.text)
            self.draw()
        else:
            self.paste(event.text)

    def on_listing_pointed(self, message: Listing.Pointed) -> None:
        """A click marks a row; a second one does what Enter does."""
        message.stop()
        if self.field is not None:
            at = self.rows.at
            self._end_edit(keep=True)
            if message.listing is self.rows:
                self.rows.go(at)
        self.at_rows = message.listing is self.rows
        self.looking = False
        if message.listing is self.pages:
            self.query_field = Field()
            self.follow_page()
            self.draw()
        self.touch()
        if message.again:
            self.action_enter()

    def on_notice_bar_clicked(self, message: NoticeBar.Clicked) -> None:
        message.stop()
        self.action_details()

    def action_move(self, step: int) -> None:
        """Mark another."""
        if self.at_rows:
            self.rows.move(step)
            self.touch()
        else:
            self.pages.move(step)
            self.follow_page()

    def action_other_side(self) -> None:
        """From the list to the rows, and back."""
        if self.at_rows:
            self._to_list()
        else:
            self._to_rows()

    def action_enter(self) -> None:
        """To the rows; there, change the value."""
        if self.at_rows:
            self.edit()
        elif self.page in ADDING:
            self.action_add()
        else:
            self._to_rows()

    def action_turn(self) -> None:
        """Turn a switch, or go on to the next choice."""
        if self.at_rows and not self.cycle(1):
            self.edit()

    def action_sideways(self, step: int) -> None:
        """To the rows; there, another choice."""
        if not self.at_rows:
            if step > 0:
                self._to_rows()
        elif not self.cycle(step) and step < 0:
            self._to_list()

    def action_look(self) -> None:
        """Look for a setting."""
        self.looking, self.at_rows = True, False
        self.draw()

    def action_reload(self) -> None:
        """Read the file again."""
        self.notices.clear()
        self.ask()

    def action_help(self) -> None:
        """All keys."""
        self.app.push_screen(KeyHelp("Settings: the keys", self.BINDINGS))

    def action_details(self) -> None:
        """More about the latest remark."""
        notice = self.notices.notice
        if notice is None:
            return
        parts = [notice.text, *notice.detail.splitlines()]

        def layout(width: int) -> list[Line]:
            return [Line(row) for part in parts for row in wrap([Span(one_line(part))], width)]

        self.app.push_screen(Sheet("More about it", layout))

    def action_back(self) -> None:
        """Out of the search, out of the rows where they hide the list, out of the settings."""
        self.notices.clear()
        if self.searches:
            row = self.row
            self.query_field, self.looking = Field(), False
            if self.at_rows and row is not None:
                self.to_row(row.path)
            self.draw()
        elif self.at_rows and self.has_class("-single"):
            self._to_list()
        elif not len(self.changes):
            self.dismiss("")
        else:
            self.app.push_screen(Question("Not saved", self.unsaved(), _LEAVING), self.left)

    def _look_on(self, event: events.Key) -> bool:
        """A key while one looks for a setting; whether it was one for that."""
        if event.key in ("enter", "down", "tab"):
            self.looking = False
            self._to_rows()
        elif self.query_field.take(event):
            self._draw_rows(None)
            self.touch()
        else:
            return False
        return True

    def _to_rows(self) -> None:
        if any(each.marks for each in self.rows.listed):
            self.at_rows = True
        self.touch()

    def _to_list(self) -> None:
        self.at_rows = False
        if self.searches:
            self.looking = True
        self.touch()


_OWN = ("file", "changed")
_LEAVING = (
    Reply("s", "save, and leave"),
    Reply("t", "throw away what is not saved, and leave"),
    Reply("c", "stay"),
)
