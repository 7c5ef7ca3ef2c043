"""A sheet over the conversation: text to read, scrolled with the keys, put away with Esc."""

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.screen import ModalScreen

from nodwyn_tui.ui.widgets.lines import Line
from nodwyn_tui.ui.widgets.selectable import SelectableRows

Layout = Callable[[int], list[Line]]


class Page:
    """One text as a source of rows."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout

    def __len__(self) -> int:
        return 1

    def estimate(self, index: int, width: int) -> int:  # noqa: ARG002 - there is one entry
        return len(self._layout(width))

    def lay_out(self, index: int, width: int) -> list[Line]:  # noqa: ARG002 - there is one entry
        return self._layout(width)


class RowsSheet(ModalScreen[None]):
    """Shows rows, from their top."""

    CSS_PATH = "../styles/sheet.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,f1,f2,enter", "dismiss", "put this away"),
        Binding("space", "page_down", "a page down"),
        Binding("ctrl+c", "copy_or_dismiss", "copy what is selected; else put this away"),
    ]

    def __init__(self, title: str, rows: SelectableRows) -> None:
        super().__init__()
        self.frame = Container(id="sheet")
        self.frame.border_title = title
        self.frame.border_subtitle = "Esc puts this away · ↑ ↓ scroll"
        self._rows = rows

    def compose(self) -> ComposeResult:
        with self.frame:
            yield self._rows

    def on_mount(self) -> None:
        self._rows.viewport.reset()
        self._rows.viewport.go_to(0)

    def action_page_down(self) -> None:
        """What pages down in a text to read is typed text in the conversation."""
        self._rows.action_page_down()

    def action_copy_or_dismiss(self) -> None:
        """Copy what is selected; else put this away."""
        if selected := self._rows.selected_text():
            self.app.copy_to_clipboard(selected)
        else:
            self.dismiss()


class Sheet(RowsSheet):
    """Shows what `layout` gives for its width."""

    def __init__(self, title: str, layout: Layout) -> None:
        super().__init__(title, SelectableRows(Page(layout), id="sheet-rows"))
