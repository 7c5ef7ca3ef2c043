"""Something that takes a while, over the conversation: how far it is, and Esc, which stops it."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.content import Content
from textual.screen import ModalScreen

from nodwyn_tui.ui.widgets.progress import Progress


class Waiting(ModalScreen[bool]):
    """Ends with `False` where the person stops it."""

    CSS_PATH = "../styles/picker.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+c", "dismiss(False)", "stop it, and go back"),
    ]

    def __init__(self, title: str, intro: str, leaving: str) -> None:
        super().__init__()
        self._waiting_title, self._leaving = title, leaving
        self.progress = Progress(intro, id="progress")

    def compose(self) -> ComposeResult:
        with Container(id="picker") as frame:
            frame.border_title = Content(self._waiting_title)
            frame.border_subtitle = self._leaving
            yield self.progress

    def on_mount(self) -> None:
        self.progress.redraw()
