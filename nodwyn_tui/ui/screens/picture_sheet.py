"""An image as large as the screen, over the conversation (IMG-2)."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.markup import escape
from textual.screen import ModalScreen

from nodwyn_tui.domain.words import Pictures
from nodwyn_tui.ui.widgets.picture import Picture
from nodwyn_tui.ui.widgets.visible import one_line


class PictureSheet(ModalScreen[None]):
    """Shows one image in the way that the terminal can."""

    CSS_PATH = "../styles/picture_sheet.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,enter,space,ctrl+c", "dismiss", "put this away"),
    ]

    def __init__(self, title: str, path: str, pictures: Pictures) -> None:
        super().__init__()
        self._picture_title, self._path = title, path
        self._picture = Picture(pictures, id="picture")

    def compose(self) -> ComposeResult:
        with Container(id="picture-sheet") as sheet:
            sheet.border_title = escape(one_line(self._picture_title))
            sheet.border_subtitle = "Esc puts this away"
            yield self._picture

    def on_resize(self) -> None:
        self.call_after_refresh(self._draw)

    def _draw(self) -> None:
        self._picture.draw(self._path, *self._picture.size)
