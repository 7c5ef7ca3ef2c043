"""Picking one of many, over the conversation: commands, models."""

from collections.abc import Sequence
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.content import Content
from textual.screen import ModalScreen

from nodwyn_tui.ui.widgets.pick_list import Choice, PickList


class Picker(ModalScreen[str]):
    """Ends with the name of the choice, '' if there was none."""

    CSS_PATH = "../styles/picker.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+c", "leave", "put this away"),
        Binding("enter", "pick", "take the marked one"),
        Binding("up", "move(-1)", "up"),
        Binding("down", "move(1)", "down"),
        Binding("pageup", "move(-10)", "ten up"),
        Binding("pagedown", "move(10)", "ten down"),
        Binding("backspace", "shorten", "take the last letter back"),
    ]

    LEAVING = "Enter takes it · Esc puts this away"

    def __init__(self, title: str, choices: Sequence[Choice] = (), intro: str = "") -> None:
        super().__init__()
        self._picker_title = title
        self._choices = choices
        self._list = PickList(intro, id="picks")

    def compose(self) -> ComposeResult:
        with Container(id="picker") as frame:
            frame.border_title = Content(self._picker_title)
            frame.border_subtitle = self.LEAVING
            yield self._list

    def on_mount(self) -> None:
        if self._choices:
            self._list.fill(self._choices)

    def fill(self, choices: Sequence[Choice], remarks: Sequence[str] = ()) -> None:
        """What there is to pick from, once it is known."""
        self._list.fill(choices, remarks)

    def on_key(self, event: events.Key) -> None:
        if event.is_printable and event.character:
            event.stop()
            self._list.narrow(self._list.query_text + event.character)

    def on_paste(self, event: events.Paste) -> None:
        event.stop()
        self._list.narrow(self._list.query_text + " ".join(event.text.split()))

    def action_move(self, step: int) -> None:
        """Mark another."""
        self._list.move(step)

    def action_shorten(self) -> None:
        """Take the last letter back."""
        self._list.narrow(self._list.query_text[:-1])

    def action_pick(self) -> None:
        """Take the marked one. Where none is, the list stays: what was typed can be corrected."""
        if chosen := self._list.chosen:
            self.dismiss(chosen.name)

    def action_leave(self) -> None:
        """Take none."""
        self.dismiss("")


class Suggestions(Picker):
    """Ends with a choice, or with what was typed where none has it."""

    LEAVING = "Enter takes it, or what you typed · Esc"

    def action_pick(self) -> None:
        """Take the marked one, or what was typed."""
        chosen, typed = self._list.chosen, self._list.query_text.strip()
        if chosen or typed:
            self.dismiss(chosen.name if chosen else typed)
