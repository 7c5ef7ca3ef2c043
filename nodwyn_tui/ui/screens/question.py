"""A question with a few answers, each a key: over the settings."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.screen import ModalScreen

from nodwyn_tui.ui.widgets.bar import Bar, Row
from nodwyn_tui.ui.widgets.keys import run_binding
from nodwyn_tui.ui.widgets.lines import Span, cells, wrap
from nodwyn_tui.ui.widgets.visible import one_line


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer: the key that gives it, and what it means."""

    key: str
    label: str


class Question(ModalScreen[str]):
    """Ends with the key of the answer, '' for none. Enter takes the marked one."""

    CSS_PATH = "../styles/settings.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+c", "leave", "put this away"),
        Binding("enter", "pick", "take the marked one"),
        Binding("up,shift+tab", "move(-1)", "up"),
        Binding("down,tab", "move(1)", "down"),
    ]

    def __init__(self, title: str, text: str, replies: Sequence[Reply]) -> None:
        super().__init__()
        self._replies = replies
        self._frame_title = title
        self._answers = _Answers(text, replies, id="question")

    def compose(self) -> ComposeResult:
        with Container(classes="settings-frame") as frame:
            frame.border_title = one_line(self._frame_title)
            frame.border_subtitle = "Esc: nothing of it"
            yield self._answers

    async def on_key(self, event: events.Key) -> None:
        if any(reply.key == event.key for reply in self._replies):
            event.stop()
            self.dismiss(event.key)
        else:
            await run_binding(self, event)

    def action_move(self, step: int) -> None:
        """Mark another."""
        self._answers.at = (self._answers.at + step) % len(self._replies)
        self._answers.redraw()

    def action_pick(self) -> None:
        """Give the marked answer."""
        self.dismiss(self._replies[self._answers.at].key)

    def action_leave(self) -> None:
        """Give none."""
        self.dismiss("")


class _Answers(Bar):
    """The question's text, and a row for each answer."""

    def __init__(self, text: str, replies: Sequence[Reply], *, id: str) -> None:
        super().__init__(id=id)
        self._text, self._replies = text, replies
        self.at = 0

    def bar_rows(self, width: int) -> Iterator[Row]:
        yield from wrap([Span(one_line(self._text))], width)
        yield ()
        for n, reply in enumerate(self._replies):
            under = "chosen" if n == self.at else ""
            mark = Span("▸ " if under else "  ", f"{under} primary")
            row = (mark, Span(reply.key, f"{under} key"), Span(f"  {reply.label}", under))
            yield (*row, Span(" " * (width - cells(row)), under))
