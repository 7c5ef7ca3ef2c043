"""Older messages, gone through from the newest; what was being written waits at the end of them."""

from collections.abc import Iterable


class Recall:
    """`step` up and down; `leave` where the text is edited or sent."""

    def __init__(self, older: Iterable[str] = ()) -> None:
        self._older = list(older)
        self._at: int | None = None
        self._written = ""

    @property
    def shows_older(self) -> bool:
        """Whether an older message is shown."""
        return self._at is not None

    def step(self, step: int, written: str) -> str | None:
        """The message before (-1) or after (1) the one shown; `None` where there is none. From
        `written`, what stands in the prompt, one comes back to it after the newest; a newest that
        is the same, since it was taken back, is passed over.
        """
        count = len(self._older)
        if self._at is None and count and self._older[-1] == written:
            count -= 1
        at = (count if self._at is None else self._at) + step
        if not 0 <= at <= count or (self._at is None and step > 0):
            return None
        if self._at is None:
            self._written = written
        self._at = at if at < count else None
        return self._written if self._at is None else self._older[at]

    def remember(self, text: str) -> None:
        """A message was sent."""
        if text and (not self._older or self._older[-1] != text):
            self._older.append(text)

    def leave(self) -> None:
        """What is in the prompt is the person's own again."""
        self._at = None
