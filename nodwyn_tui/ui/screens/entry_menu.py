"""What can be done with one entry of the window, over the conversation (TUI-15)."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.screen import ModalScreen

from nodwyn_tui.domain.words import WindowAction
from nodwyn_tui.link.events import EditPriced, Entry, EntryKind
from nodwyn_tui.ui.widgets.options import Options
from nodwyn_tui.ui.widgets.visible import one_line

_WORDS: dict[EntryKind, str] = {
    "user": "your message",
    "image": "the image",
    "assistant": "the reply",
    "thinking": "the thinking",
    "plan": "the plan",
}


class EntryMenu(ModalScreen[WindowAction | None]):
    """Ends with the action that was picked. It opens at once, and fills when the worker has said
    what can be done and for how much.
    """

    CSS_PATH = "../styles/entry_menu.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+c,delete", "leave", "put this away"),
        Binding("enter", "pick", "do the marked one"),
        Binding("up", "move(-1)", "up"),
        Binding("down", "move(1)", "down"),
    ]

    def __init__(self, entry: Entry, marked: WindowAction | None = None) -> None:
        super().__init__()
        self.entry = entry
        self._marked = marked
        self._options = Options(title_of(entry), id="options")

    def compose(self) -> ComposeResult:
        with Container(id="entry-menu") as frame:
            frame.border_title = "In the window"
            frame.border_subtitle = "Enter does it · Esc puts this away"
            yield self._options

    def priced(self, told: EditPriced) -> None:
        """What can be done, once it is known."""
        if told.entry_id == self.entry.id:
            self._options.fill(told.options, told.why_not, self._marked)

    def action_move(self, step: int) -> None:
        """Mark another."""
        self._options.move(step)

    def action_pick(self) -> None:
        """Take the marked one, once it is known what there is."""
        if self._options.known:
            self.dismiss(self._options.chosen)

    def action_leave(self) -> None:
        """Take none."""
        self.dismiss(None)


def title_of(entry: Entry) -> str:
    """An entry in a few words."""
    if entry.kind in ("call", "guidance"):
        return one_line(entry.title)
    said = one_line(entry.preview or entry.title)
    word = _WORDS.get(entry.kind, "")
    return f"{word}: {said}" if word and said else word or said
