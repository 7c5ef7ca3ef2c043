"""Where the person writes: Enter sends, older messages wait at the upper edge, commands complete,
and the draft is told as it grows (TUI-7). Its images are `picturing.py`'s.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from textual import events
from textual.binding import BindingType
from textual.message import Message
from textual.timer import Timer
from textual.widgets import TextArea

from nodwyn_tui.link.images import Attached
from nodwyn_tui.ui.widgets.completing import Completer
from nodwyn_tui.ui.widgets.dropped import could_be_an_image
from nodwyn_tui.ui.widgets.keys import bound, keys_of
from nodwyn_tui.ui.widgets.picturing import Asked, PicturingEditor
from nodwyn_tui.ui.widgets.recall import Recall

DRAFT_S = 0.5
_LARGE_DRAFT = 65536
_LARGE_DRAFT_S = 5.0
"""A draft that holds a large paste is told less often: it goes down the link whole."""


class Prompt(PicturingEditor):
    """What the person wants goes up as messages."""

    BINDINGS: ClassVar[list[BindingType]] = [
        bound("send", "submit"),
        bound("steer", "submit(True)"),
        bound("line_break", "line_break"),
        bound("older", "older"),
        bound("newer", "newer"),
        bound("complete", "complete"),
        bound("back", "back"),
    ]

    @dataclass
    class Submitted(Message):
        """The text is to be sent, and is in the prompt no more; `reason` if it was asked for as
        one, `steer` if a run is to take it up at once.
        """

        text: str
        reason: bool
        steer: bool
        images: tuple[Attached, ...] = ()

    @dataclass
    class DraftChanged(Message):
        """Text and images as they stand, at most twice a second."""

        text: str
        images: tuple[str, ...]

    class Left(Message):
        """The keyboard is wanted in the conversation."""

    class WaitingWanted(Message):
        """The last of the messages that wait is to be edited."""

    class ReasonEnded(Message):
        """The question for a reason was answered or put away."""

    def __init__(self, completer: Completer, *, id: str | None = None, placeholder: str) -> None:
        super().__init__(completer, id=id, placeholder=placeholder)
        self.asks_reason = False
        """Whether it asks why a call is refused."""
        self.has_waiting = False
        """Whether messages wait for the run; the last of them comes before the older ones."""
        self._usual = placeholder
        self._recall = Recall()
        self._aside = ""
        """What was written before a question took its place."""
        self._draft_due: Timer | None = None
        self._told: tuple[str, tuple[str, ...]] = ("", ())
        self._enter: bool | None = None
        """Enter came while it was being asked what was pasted (True: to send into the run)."""

    @property
    def draft(self) -> str:
        """What is written and not sent."""
        return self._aside if self.asks_reason else self.whole_text

    @property
    def completes(self) -> bool:
        return not (self.asks_reason or self._recall.shows_older)

    @property
    def written(self) -> tuple[str, tuple[str, ...]]:
        """Text and images as they stand."""
        return self.text, self.gallery.digests

    @property
    def takes_images(self) -> bool:
        return not self.asks_reason

    def begin(self, draft: str, history: Sequence[str], images: Sequence[Attached] = ()) -> None:
        """A session is open: its draft, unless something is written already, and its messages."""
        self._recall = Recall(history)
        if (draft or images) and not (self.text or self.gallery.images):
            self.attach(images)
            self._told = draft, self.gallery.digests
            self.set_text(draft)

    def remember(self, text: str) -> None:
        """A message was sent."""
        self._recall.remember(text)

    def put_back(self, texts: Sequence[str], images: Sequence[Attached] = ()) -> None:
        """What was not sent stands here again, above what is written."""
        self.attach(images)
        texts = [text for text in (*texts, self.draft) if text]
        whole = "\n\n".join(texts)
        if self.asks_reason:
            self._aside = whole
        else:
            self.set_text(whole)

    def ask_reason(self) -> None:
        """Ask why a call is refused; what is written waits meanwhile."""
        self._aside = self.draft
        self.asks_reason = True
        self.set_text("")
        send = keys_of(self).name("send")
        self.placeholder = f"Why not? The model is told. {send} refuses, Esc goes back."
        self.focus()

    def end_reason(self) -> None:
        """Put the question for a reason away; what was written is back."""
        if self.asks_reason:
            self.asks_reason = False
            self.placeholder = self._usual
            self.set_text(self._aside)
            self.post_message(self.ReasonEnded())

    def flush_draft(self) -> None:
        """Tell the draft now."""
        if self._draft_due is not None:
            self._draft_due.stop()
            self._draft_due = None
        draft = self.draft, self.gallery.digests
        if draft != self._told:
            self._told = draft
            self.post_message(self.DraftChanged(*draft))

    def tell_images(self) -> None:
        super().tell_images()
        self._tell_draft_soon()

    def answer(self, text: str, images: Sequence[Attached] | None) -> Asked | None:
        """What was asked as `text` are `images`, or, with `None`, a text like any other. A message
        that was held back until all is answered goes now.
        """
        asked = self.answered(text)
        if images is not None:
            self.attach(images)
        elif asked is not None and not asked.sure:
            self._insert(asked)
        if not self.asked and self._enter is not None:
            enter, self._enter = self._enter, None
            self.action_submit(enter)
        return asked

    def forget_asked(self) -> None:
        """Nobody answers any more: what was asked about is text."""
        self._enter = None
        for asked in tuple(self.asked):
            self.answered(asked.text)
            if not asked.sure:
                self._insert(replace(asked, enter=False))

    def on_text_area_changed(self, message: TextArea.Changed) -> None:
        message.stop()
        self._tell_draft_soon()
        self.offer()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002 - Textual's
        """Esc is ours only where there is something to put away."""
        return action != "back" or self.offer() is not None or self.asks_reason

    def action_submit(self, steer: bool = False) -> None:
        """Send; or break the line after a backslash, or finish a command."""
        row, column = self.cursor_location
        if column and self.document.get_line(row)[column - 1] == "\\":
            self.replace("\n", (row, column - 1), (row, column), maintain_selection_offset=False)
            return
        if choice := self.offer():
            more = choice.goes_on or choice.replaces is not None
            unfinished = (choice.more and choice.text != self.text) or more
            self.take(choice)
            if unfinished:
                return
        text, reason = self.whole_text, self.asks_reason
        if self.asked and not reason:
            self._enter = steer
        elif could_be_an_image(text) and not reason:
            self.set_text("")
            self.ask(text, enter=True, steer=steer)
        elif text.strip() or reason or self.gallery.images:
            self._submit(text, reason=reason, steer=steer)

    def action_line_break(self) -> None:
        """A new line."""
        self.replace("\n", *self.selection, maintain_selection_offset=False)

    def action_complete(self) -> None:
        """Take the chosen completion, else leave for the conversation."""
        if choice := self.offer():
            self.take(choice)
        else:
            self.post_message(self.Left())

    def action_older(self) -> None:
        """Up within the completions, the text, or the older messages."""
        self._step(-1, at_edge=self.navigator.is_first_wrapped_line(self.cursor_location))

    def action_newer(self) -> None:
        """Down likewise."""
        self._step(1, at_edge=self.navigator.is_last_wrapped_line(self.cursor_location))

    def action_back(self) -> None:
        """Put the completions away, else the question."""
        if self.offer():
            self.withdraw()
        else:
            self.end_reason()

    async def _on_key(self, event: events.Key) -> None:
        self._enter = None
        await super()._on_key(event)

    def _submit(self, text: str, *, reason: bool, steer: bool) -> None:
        images = () if reason else self.gallery.take()
        self.post_message(self.Submitted(text, reason, steer, images))
        # Empty at once: what follows in the same burst of keys begins the next message.
        self._recall.leave()
        self.set_text("")
        if images:
            self.tell_images()
        self.end_reason()

    def _insert(self, asked: Asked) -> None:
        """What names no image is text: a message that was sent, or written where it was pasted."""
        if asked.enter:
            images = self.gallery.take()
            self.post_message(self.Submitted(asked.text, False, asked.steer, images))
            self.tell_images()
        elif self.asks_reason:
            self._aside += asked.text
        else:
            self.insert_pasted(asked)

    def _tell_draft_soon(self) -> None:
        if self._draft_due is None:
            wait = _LARGE_DRAFT_S if len(self.whole_text) > _LARGE_DRAFT else DRAFT_S
            self._draft_due = self.set_timer(wait, self.flush_draft)

    def _step(self, step: int, *, at_edge: bool) -> None:
        if self.offer():
            self.choose(step)
        elif not at_edge:
            self.action_cursor_up() if step < 0 else self.action_cursor_down()
        elif self.has_waiting and step < 0 and not self.text:
            self.post_message(self.WaitingWanted())
        elif not self.asks_reason:
            text = self._recall.step(step, self.whole_text)
            if text is not None:
                self.set_text(text)
