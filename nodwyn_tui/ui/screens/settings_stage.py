"""The parts of the settings on the screen, and what the worker tells of the file drawn in them.

What the person does is `settings_editing.py`'s, `settings_models.py`'s and `settings.py`'s.
"""

from collections.abc import Callable, Iterator
from typing import Literal

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.screen import Screen

from nodwyn_tui.link.commands import Command
from nodwyn_tui.link.events import Notice
from nodwyn_tui.link.settings import Setting, SettingsGroup, SettingsShown
from nodwyn_tui.ui.widgets.field import Field
from nodwyn_tui.ui.widgets.footer import Footer, Hint
from nodwyn_tui.ui.widgets.keys import keys_of
from nodwyn_tui.ui.widgets.listing import Listed, Listing
from nodwyn_tui.ui.widgets.notices import NoticeBar
from nodwyn_tui.ui.widgets.setting_bars import PageHead, SettingsTitle
from nodwyn_tui.ui.widgets.setting_changes import Changes, Path
from nodwyn_tui.ui.widgets.setting_pages import (
    ADD_MODEL,
    ADD_SERVER,
    Key,
    PageRow,
    first_page,
    key_of,
    pages_of,
)
from nodwyn_tui.ui.widgets.setting_rows import AboutSetting, Heading, SettingRow, column_of
from nodwyn_tui.ui.widgets.setting_search import found
from nodwyn_tui.ui.widgets.too_small import LEAST, TooSmall

Level = Literal["info", "warning", "error"]
THEME: Path = ("ui", "theme")
BESIDE = 76
"""Cells from which on the list and the rows stand side by side."""
ROOMY = 110
ADDING = {
    ADD_MODEL: "Enter asks your servers for their models, to pick one from.",
    ADD_SERVER: "Enter asks for the name and the address of a server of your own.",
}


class SettingsStage(Screen[str]):
    """Draws the file as it would be with the changes. Ends with what the conversation is to tell,
    '' for nothing. `send` tells the worker.
    """

    CSS_PATH = "../styles/settings.tcss"
    HORIZONTAL_BREAKPOINTS = [  # noqa: RUF012 - Textual's type
        (0, "-narrow"),
        (LEAST[0], "-single"),
        (BESIDE, "-beside"),
        (ROOMY, "-wide-pages"),
    ]
    VERTICAL_BREAKPOINTS = [(0, "-flat"), (LEAST[1], "-low"), (20, "-high")]  # noqa: RUF012 - too

    def __init__(self, send: Callable[[Command], None]) -> None:
        super().__init__()
        self.tell_worker = send
        self.changes = Changes()
        self.picture: SettingsShown | None = None
        self.page: Key | None = None
        """The page that is chosen."""
        self.awaited: Key | None = None
        """A page to go to once the worker shows it."""
        self.at_rows = False
        """The keys are the rows', not the list's."""
        self.field: Field | None = None
        """What is being typed into the marked row."""
        self.query_field = Field()
        self.looking = False
        """What is typed is what is looked for."""
        self.title_bar = SettingsTitle(id="settings-title")
        self.pages = Listing(id="setting-pages")
        self.head = PageHead(id="setting-head")
        self.rows = Listing(id="setting-rows")
        self.about = AboutSetting(id="setting-about")
        self.notices = NoticeBar(id="settings-notices")
        self.footer = Footer(id="settings-footer")

    def compose(self) -> ComposeResult:
        yield self.title_bar
        with Horizontal(id="settings-body"):
            yield self.pages
            with Vertical(id="setting-side"):
                yield self.head
                yield self.rows
        with Vertical(id="setting-foot"):
            yield self.about
        yield self.notices
        yield self.footer
        yield TooSmall(id="too-small")

    def on_mount(self) -> None:
        self.set_focus(None)
        self.draw()
        self.ask()

    def ask(self) -> None:
        """Have the worker show the file as it would be with the changes, and what is typed."""
        row = self.row
        typed = {row.path: self.typed} if row is not None and self.field is not None else {}
        self.tell_worker(self.changes.showing(typed))

    @property
    def typed(self) -> str | None:
        """What is being typed, as a change: nothing typed is no value."""
        row, field = self.row, self.field
        if row is None or field is None:
            return None
        text = field.text.strip()
        counts = text or (row.kind == "text" and row.default)
        return text if counts else None

    @property
    def row(self) -> Setting | None:
        """The marked setting."""
        listed = self.rows.listed
        at = listed[self.rows.at] if self.rows.at < len(listed) else None
        return at.setting if isinstance(at, SettingRow) else None

    @property
    def group(self) -> SettingsGroup | None:
        """The page of the marked setting where settings are looked for, else the chosen one."""
        row = self.row
        for group in self.groups:
            if self.searches and row is not None and row in group.rows:
                return group
            if not self.searches and key_of(group) == self.page:
                return group
        return None

    @property
    def groups(self) -> tuple[SettingsGroup, ...]:
        """All pages that have something."""
        groups = self.picture.groups if self.picture else ()
        return tuple(group for group in groups if group.rows or group.note)

    @property
    def searches(self) -> bool:
        """Whether the rows are those that were looked for."""
        return self.looking or bool(self.query_field.text)

    def tell(self, level: Level, text: str, detail: str = "") -> None:
        """A remark of the screen's own."""
        self.notices.tell(Notice(level=level, text=text, detail=detail))

    def draw(self, at: Path | None = None) -> None:
        """Draw all of it again; the row `at` is marked, else the one that was."""
        row = self.row
        wanted = at or (row.path if row else None)
        self._draw_pages()
        self._draw_rows(wanted)
        self._follow_theme()
        self.touch()

    def touch(self) -> None:
        """Draw what depends on the marked row and on who has the keys."""
        self.set_class(self.at_rows or self.searches, "-at-rows")
        self.pages.set_active(not self.at_rows and not self.looking)
        self.rows.set_active(self.at_rows)
        count = (self.picture.unsaved if self.picture else 0) or len(self.changes)
        file = self.picture.file if self.picture else ""
        self.title_bar.tell(file, len(self.changes) and count, len(self._problems()))
        self._draw_head()
        if self.at_rows or self.searches:
            self.about.tell(self.row, value=self.changes.shown(self.row) if self.row else "")
        elif self.page in ADDING:
            self.about.tell(None, ADDING[self.page])
        else:
            self.about.tell(None, self._of_pages())
        self.footer.show_keys(self.hints())

    def hints(self) -> list[Hint]:
        """The keys that matter now."""
        return []

    def mark_page(self, key: Key | None) -> None:
        """Choose a page."""
        for index, page in enumerate(self.pages.listed):
            if isinstance(page, PageRow) and page.key == key:
                self.pages.go(index)
        self.follow_page()

    def follow_page(self) -> None:
        """The page that is marked in the list is the chosen one."""
        listed = self.pages.listed
        marked = listed[self.pages.at] if listed else None
        if isinstance(marked, PageRow) and marked.key != self.page:
            self.page = marked.key
            self._draw_rows(None)
        self.touch()

    def _of_pages(self) -> str:
        group = self.group
        if group is None:
            return "" if self.picture else "Asks for the settings…"
        count = sum(1 for row in group.rows if row.path in self.changes.values)
        own = sum(1 for row in group.rows if row.origin == "file")
        noun = "setting" if len(group.rows) == 1 else "settings"
        said = f"{len(group.rows)} {noun}, {own or 'none'} from your file"
        return f"{said}, {count} changed." if count else f"{said}."

    def _draw_pages(self) -> None:
        listed = pages_of(self.groups) if self.picture else []
        if not listed:
            return
        if self.page is None:
            self.page = first_page(self.groups)
        keys = [page.key if isinstance(page, PageRow) else None for page in listed]
        if self.awaited is not None and self.awaited in keys:
            self.page, self.awaited = self.awaited, None
        if self.page in keys:
            at = keys.index(self.page)
        else:
            at = min(max(self.pages.at, 1), len(listed) - 1)
            before = keys[at - 1]
            if before and self.page and before[0] == self.page[0]:  # the last of its kind is gone
                at -= 1
        self.pages.fill(listed, at)
        marked = listed[self.pages.at]
        self.page = marked.key if isinstance(marked, PageRow) else None

    def _draw_rows(self, wanted: Path | None) -> None:
        listed = list(self._found() if self.searches else self._chosen())
        paths = [each.setting.path if isinstance(each, SettingRow) else None for each in listed]
        if wanted not in paths and wanted is not None and self.field is not None:
            self.field = None  # its row is gone
        at = paths.index(wanted) if wanted in paths else 0
        if wanted in paths and self.field is not None:
            row = listed[at]
            assert isinstance(row, SettingRow)
            listed[at] = self._row(row.setting, row.column, self.field)
        self.rows.fill(listed, at)

    def _draw_head(self) -> None:
        problems = self._problems()
        if self.searches:
            count = sum(1 for each in self.rows.listed if each.marks)
            self.head.look(self.query_field, count, typing=self.looking)
            return
        group = self.group
        if group is not None:
            self.head.tell(group.title or group.name, group.note, problems)
        else:
            self.head.tell("", "", problems)

    def _problems(self) -> list[str]:
        """What is wrong in the file beside its settings, without its name: the title has that."""
        if self.picture is None:
            return []
        file = self.picture.file
        told = (each.removeprefix(f"{file}: ") for each in self.picture.problems)
        return [
            f"line {each.removeprefix(f'{file}:')}" if each.startswith(f"{file}:") else each
            for each in told
        ]

    def _chosen(self) -> Iterator[Listed]:
        group = self.group
        if group is not None:
            column = column_of(group.rows)
            yield from (self._row(row, column) for row in group.rows)

    def _found(self) -> Iterator[Listed]:
        """The rows that hold every word that is looked for, under their pages' titles."""
        found_in = list(found(self.groups, self.query_field.text))
        column = column_of(row for _, rows in found_in for row in rows)
        for n, (group, rows) in enumerate(found_in):
            yield Heading(group.title or group.name, blank=n > 0)
            yield from (self._row(row, column) for row in rows)

    def _row(self, row: Setting, column: int, field: Field | None = None) -> SettingRow:
        return SettingRow(
            setting=row,
            value=self.changes.shown(row),
            changed=row.path in self.changes.values,
            theirs=self.changes.conflicts.get(row.path),
            field=field,
            column=column,
            keys=keys_of(self),
        )

    def _follow_theme(self) -> None:
        """A theme is seen as soon as it is chosen."""
        for group in self.groups:
            for row in group.rows:
                if row.path == THEME:
                    self.wear(self.changes.shown(row))

    def wear(self, theme: str) -> None:
        """Use a theme, if there is one of that name."""
        if theme in self.app.available_themes and theme != self.app.theme:
            self.app.theme = theme
