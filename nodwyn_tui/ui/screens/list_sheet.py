"""A setting that is a list, an item a line, written in an editor over the settings."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.screen import ModalScreen

from nodwyn_tui.ui.widgets.editor import Editor
from nodwyn_tui.ui.widgets.visible import one_line


class ListSheet(ModalScreen[str | None]):
    """Ends with the lines that have something in them, `None` if nothing is to change."""

    CSS_PATH = "../styles/settings.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+c", "leave", "leave it as it was", priority=True),
        Binding("ctrl+s", "take", "take these lines", priority=True),
    ]

    def __init__(self, title: str, text: str) -> None:
        super().__init__()
        self._frame_title = title
        self._lines = text
        self.editor = Editor(id="list-lines")

    def compose(self) -> ComposeResult:
        with Container(classes="settings-frame -tall") as frame:
            frame.border_title = f"{one_line(self._frame_title)}: one a line"
            frame.border_subtitle = "Ctrl+S takes them · Esc leaves it as it was"
            yield self.editor

    def on_mount(self) -> None:
        self.editor.load_text(self._lines)
        self.editor.move_cursor(self.editor.document.end)
        self.editor.focus()

    def action_take(self) -> None:
        """Take these lines."""
        lines = (line.strip() for line in self.editor.whole_text.splitlines())
        self.dismiss("\n".join(line for line in lines if line))

    def action_leave(self) -> None:
        """Leave it as it was."""
        self.dismiss(None)
