"""Asks for a server's key. The key is shown nowhere; it leaves here by `entered` alone."""

from collections.abc import Callable
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.content import Content
from textual.screen import ModalScreen

from nodwyn_tui.link.setup import Way
from nodwyn_tui.ui.widgets.key_line import KeyLine

INTRO = (
    "Nodwyn keeps it in the system's keyring, or in a private file beside config.toml where there"
    " is none, and sends it to this server alone."
)


class KeyScreen(ModalScreen[bool]):
    """Ends with `True` once somebody takes the key, `False` where the person goes back."""

    CSS_PATH = "../styles/picker.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+c", "dismiss(False)", "go back"),
        Binding("enter", "take", "take the key"),
        Binding("backspace", "shorten", "take the last sign back"),
        Binding("ctrl+u", "empty", "begin anew"),
    ]

    def __init__(self, way: Way, entered: Callable[[str], None]) -> None:
        super().__init__()
        self._way, self._entered = way, entered
        where = f"\nKeys are made at {way.key_page}" if way.key_page else ""
        self.line = KeyLine(INTRO + where, id="key-line")

    def compose(self) -> ComposeResult:
        with Container(id="picker") as frame:
            frame.border_title = Content(f"The key of {self._way.title}")
            frame.border_subtitle = "Enter tries it · Ctrl+U: anew · Esc goes back"
            yield self.line

    def on_mount(self) -> None:
        self.line.redraw()

    def on_key(self, event: events.Key) -> None:
        if event.is_printable and event.character:
            event.stop()
            self.line.write(self.line.key + event.character)

    def on_paste(self, event: events.Paste) -> None:
        event.stop()
        self.line.write(self.line.key + event.text.strip())

    def action_shorten(self) -> None:
        """Take the last sign back."""
        self.line.write(self.line.key[:-1])

    def action_empty(self) -> None:
        """Begin anew."""
        self.line.write("")

    def action_take(self) -> None:
        """Have the key tried."""
        if self.line.key.strip():
            self.line.say(f"asks {self._way.title} for its models")
            self._entered(self.line.key.strip())

    def refused(self, why: str) -> None:
        """The key does not work, or could not be tried: another one can be typed."""
        self.line.key = ""
        self.line.say(why, wrong=True)
