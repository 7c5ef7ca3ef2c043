"""Where the person writes: Enter sends, older messages wait at the upper edge, commands complete,
and the draft is told as it grows (TUI-7).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message
from textual.timer import Timer
from textual.widgets import TextArea

from nodwyn_tui.ui.widgets.editor import Editor

DRAFT_S = 0.5
_LARGE_DRAFT = 65536
_LARGE_DRAFT_S = 5.0
"""A draft that holds a large paste is told less often: it goes down the link whole."""


@dataclass(frozen=True, slots=True)
class Completion:
    """What can stand in place of what is typed; `more` says that an argument has to follow."""

    text: str
    help: str
    more: bool = False


Completer = Callable[[str], Sequence[Completion]]


class Prompt(Editor):
    """What it says goes up as messages; what it offers for completion comes from `completer`."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", "send"),
        Binding("ctrl+j,shift+enter,alt+enter", "line_break", "a new line; so does \\ Enter"),
        Binding("up", "older", "a line up; at the first, the message before"),
        Binding("down", "newer", "a line down; at the last, the message after"),
        Binding("tab", "complete", "complete a command; else to the conversation"),
        Binding("escape", "back", "put completions or a question away"),
    ]

    @dataclass
    class Submitted(Message):
        """The text is to be sent, and is in the prompt no more; `reason` if asked for as one."""

        text: str
        reason: bool

    @dataclass
    class DraftChanged(Message):
        """The text as it stands, at most twice a second."""

        text: str

    @dataclass
    class Offered(Message):
        """What could stand in place of what is typed, and which of it is chosen."""

        completions: Sequence[Completion]
        chosen: int

    class Left(Message):
        """The keyboard is wanted in the conversation."""

    class ReasonEnded(Message):
        """The question for a reason was answered or put away."""

    def __init__(self, completer: Completer, *, id: str | None = None, placeholder: str) -> None:
        super().__init__(id=id, placeholder=placeholder)
        self._completer = completer
        self._usual = placeholder
        self._offered: Sequence[Completion] = ()
        self._chosen = 0
        self._older: list[str] = []
        self._at: int | None = None
        """Which of the older messages is shown; `None`: what the person writes."""
        self._aside = ""
        """What was written before an older message, or a question, took its place."""
        self._asks_reason = False
        self._draft_due: Timer | None = None
        self._told = ""

    @property
    def asks_reason(self) -> bool:
        """Whether it asks why a call is refused."""
        return self._asks_reason

    @property
    def draft(self) -> str:
        """What is written and not sent."""
        return self._aside if self._asks_reason else self.whole_text

    def begin(self, draft: str, history: Sequence[str]) -> None:
        """A session is open: its draft, unless something is written already, and its messages."""
        self._older = list(history)
        self._at = None
        if draft and not self.text:
            self._told = draft
            self.set_text(draft)

    def ask_reason(self) -> None:
        """Ask why a call is refused; what is written waits meanwhile."""
        self._aside = self.draft
        self._asks_reason = True
        self.set_text("")
        self.placeholder = "Why not? The model is told. Enter refuses, Esc goes back."
        self.focus()

    def remember(self, text: str) -> None:
        """A message was sent."""
        if not self._older or self._older[-1] != text:
            self._older.append(text)

    def flush_draft(self) -> None:
        """Tell the draft now."""
        if self._draft_due is not None:
            self._draft_due.stop()
            self._draft_due = None
        if self.draft != self._told:
            self._told = self.draft
            self.post_message(self.DraftChanged(self.draft))

    def on_text_area_changed(self, message: TextArea.Changed) -> None:
        message.stop()
        if self._draft_due is None:
            wait = _LARGE_DRAFT_S if len(self.whole_text) > _LARGE_DRAFT else DRAFT_S
            self._draft_due = self.set_timer(wait, self.flush_draft)
        self._offer(() if self._asks_reason or self._at is not None else self._completer(self.text))

    def action_submit(self) -> None:
        """Send; or break the line after a backslash, or finish a command."""
        row, column = self.cursor_location
        if column and self.document.get_line(row)[column - 1] == "\\":
            self.replace("\n", (row, column - 1), (row, column), maintain_selection_offset=False)
            return
        if self._offered:
            choice = self._offered[self._chosen]
            if choice.more and choice.text != self.text:
                self._take(choice)
                return
            self._take(choice)
        text, reason = self.whole_text, self._asks_reason
        if text.strip() or reason:
            self.post_message(self.Submitted(text, reason))
            # Empty at once: what follows in the same burst of keys begins the next message.
            self._at = None
            self.set_text("")
            self.end_reason()

    def end_reason(self) -> None:
        """Put the question for a reason away; what was written is back."""
        if self._asks_reason:
            self._asks_reason = False
            self.placeholder = self._usual
            self.set_text(self._aside)
            self.post_message(self.ReasonEnded())

    def action_line_break(self) -> None:
        """A new line."""
        self.replace("\n", *self.selection, maintain_selection_offset=False)

    def action_complete(self) -> None:
        """Take the chosen completion, else leave for the conversation."""
        if self._offered:
            self._take(self._offered[self._chosen])
        else:
            self.post_message(self.Left())

    def action_older(self) -> None:
        """Up within the text, the completions or the older messages."""
        self._step(-1, at_edge=self.navigator.is_first_wrapped_line(self.cursor_location))

    def action_newer(self) -> None:
        """Down likewise."""
        self._step(1, at_edge=self.navigator.is_last_wrapped_line(self.cursor_location))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002 - Textual's
        """Esc is ours only where there is something to put away."""
        return action != "back" or bool(self._offered) or self._asks_reason

    def action_back(self) -> None:
        """Put the completions away, else the question."""
        if self._offered:
            self._offer(())
        else:
            self.end_reason()

    def _step(self, step: int, *, at_edge: bool) -> None:
        if self._offered:
            self._chosen = (self._chosen + step) % len(self._offered)
            self.post_message(self.Offered(self._offered, self._chosen))
        elif not at_edge:
            self.action_cursor_up() if step < 0 else self.action_cursor_down()
        elif not self._asks_reason:
            self._recall(step)

    def _recall(self, step: int) -> None:
        count = len(self._older)
        at = (count if self._at is None else self._at) + step
        if not 0 <= at <= count or (self._at is None and step > 0):
            return
        if self._at is None:
            self._aside = self.whole_text
        self._at = at if at < count else None
        self.set_text(self._aside if self._at is None else self._older[at])

    def _take(self, completion: Completion) -> None:
        self.set_text(completion.text + " " * completion.more)
        self._offer(())

    def _offer(self, completions: Sequence[Completion]) -> None:
        if completions or self._offered:
            self._offered, self._chosen = completions, 0
            self.post_message(self.Offered(completions, 0))
