"""A handover note to look at: what it would change, the note itself to be edited, and the keys that
accept it or put it away (TUI-15).
"""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.screen import ModalScreen
from textual.widgets import TextArea

from nodwyn_tui.link.events import CompactionOffered
from nodwyn_tui.ui.widgets.compaction_facts import CompactionFacts
from nodwyn_tui.ui.widgets.editor import Editor
from nodwyn_tui.ui.widgets.pastes import clean

READING = "Enter accepts it · e edits it · Esc drops it"
WRITING = "Esc ends editing"


class CompactionSheet(ModalScreen[str | None]):
    """Ends with the note that is accepted, `None` if none is."""

    CSS_PATH = "../styles/compaction_sheet.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back", "end editing; else drop the note"),
        Binding("enter", "accept", "accept the note"),
        Binding("e", "edit", "edit the note"),
        Binding("ctrl+c", "drop", "drop the note"),
        Binding("up", "scroll(-1)", "a row up"),
        Binding("down", "scroll(1)", "a row down"),
        Binding("pageup", "scroll(-8)", "a page up"),
        Binding("pagedown,space", "scroll(8)", "a page down"),
    ]

    def __init__(self, offer: CompactionOffered) -> None:
        super().__init__()
        self.facts = CompactionFacts(offer, id="compaction-facts")
        self.note = Editor(id="handover")
        self.note.load_text(clean(offer.note))
        self.note.can_focus = False
        self._frame = Container(id="compaction")

    @property
    def writing(self) -> bool:
        """Whether the note is being edited."""
        return self.note.can_focus

    def compose(self) -> ComposeResult:
        with self._frame:
            self._frame.border_title = "Compact: a new window, from this note"
            self._frame.border_subtitle = READING
            yield self.facts
            self.note.border_title = "what the model goes on from"
            yield self.note

    def on_mount(self) -> None:
        self.set_focus(None)

    def on_text_area_changed(self, message: TextArea.Changed) -> None:
        """The figures are those of the note as it stands."""
        message.stop()
        self.facts.written = self.note.whole_text
        self.facts.redraw()

    def action_edit(self) -> None:
        """Write in the note."""
        self.note.can_focus = True
        self.note.focus()
        self._frame.border_subtitle = WRITING

    def action_back(self) -> None:
        """End editing; else drop the note."""
        if self.writing:
            self.note.can_focus = False
            self.set_focus(None)
            self._frame.border_subtitle = READING
        else:
            self.action_drop()

    def action_accept(self) -> None:
        """Go on from the note as it stands."""
        self.dismiss(self.note.whole_text)

    def action_drop(self) -> None:
        """Nothing changes."""
        self.dismiss(None)

    def action_scroll(self, rows: int) -> None:
        """Through a long note."""
        self.note.scroll_relative(y=rows, animate=False)
