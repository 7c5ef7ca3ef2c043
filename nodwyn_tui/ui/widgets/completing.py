"""An editor that offers what could stand in place of what is typed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from textual.message import Message

from nodwyn_tui.ui.widgets.editor import Editor


@dataclass(frozen=True, slots=True)
class Completion:
    """What can stand in place of what is typed; `more` says that an argument has to follow,
    `goes_on` that it is a beginning only (a folder). `label` is what is shown of it, where that is
    another text; with `replaces` it stands for so many letters before the cursor alone; with
    `attaches`, the path of an image, for nothing: that is attached.
    """

    text: str
    help: str
    more: bool = False
    goes_on: bool = False
    label: str = ""
    replaces: int | None = None
    attaches: str = ""


Completer = Callable[[str, str], Sequence[Completion]]
"""Gives completions of a whole text, and of the text up to the cursor."""


class CompletingEditor(Editor):
    """What it offers comes from `completer`, and goes up as a message to be drawn."""

    @dataclass
    class Offered(Message):
        """What could stand in place of what is typed, and which of it is chosen."""

        completions: Sequence[Completion]
        chosen: int

    def __init__(
        self, completer: Completer, *, id: str | None = None, placeholder: str = ""
    ) -> None:
        super().__init__(id=id, placeholder=placeholder)
        self._completer = completer
        self._seen = ""
        """The text that was completed last."""
        self._seen_at = (0, 0)
        self._offered: Sequence[Completion] = ()
        self._at = 0

    @property
    def completes(self) -> bool:
        """Whether what is typed may be completed at all."""
        return True

    def offer(self) -> Completion | None:
        """Offer what the text could become as it stands now; the completion that is marked."""
        if self._seen != self.text:
            self._seen, self._seen_at = self.text, self.cursor_location
            head = self.get_text_range((0, 0), self.cursor_location)
            self._tell(self._completer(self.text, head) if self.completes else ())
        elif self._offered and self._offered[0].replaces and self._seen_at != self.cursor_location:
            self.withdraw()
        return self._offered[self._at] if self._offered else None

    def withdraw(self) -> None:
        """Offer nothing, until something else is typed."""
        self._seen = self.text
        self._tell(())

    def choose(self, step: int) -> None:
        """Mark the next one, or the one before."""
        self._at = (self._at + step) % len(self._offered)
        self.post_message(self.Offered(self._offered, self._at))

    def take(self, completion: Completion) -> None:
        """Put it in place of what is typed."""
        if completion.replaces is not None:
            row, column = self.cursor_location
            text = "" if completion.attaches else completion.text
            start = row, column - completion.replaces
            self.replace(text, start, self.cursor_location, maintain_selection_offset=False)
            self.withdraw()
            return
        self.set_text(completion.text + " " * completion.more)
        if not completion.goes_on:
            self.withdraw()

    def offer_again(self) -> None:
        """There is more to offer for what is typed, if nothing is offered yet."""
        if not self._offered and self._seen == self.text:
            self._seen = ""
            self.offer()

    def offer_anew(self) -> None:
        """There is other to offer for what is typed."""
        if self._seen == self.text:
            self._seen = ""
            self.offer()

    def _tell(self, completions: Sequence[Completion]) -> None:
        if completions or self._offered:
            self._offered, self._at = completions, 0
            self.post_message(self.Offered(completions, 0))
