"""Text that arrives piece by piece, and reads clean at every moment."""

from nodwyn_tui.domain.canonical import clean
from nodwyn_tui.domain.parts import ReplyPart, Text, Thinking

_HIGH, _LOW = "\ud800", "\udbff"
"""The bounds of a surrogate that waits for its other half."""


class Pieces:
    """Joins pieces. A character whose two JSON escapes came apart is held back until it is whole,
    so that no piece shows half of it (C25).
    """

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._held = ""

    def add(self, piece: str) -> str:
        """The clean text that is new; '' if there is none yet."""
        piece = self._held + piece
        self._held = ""
        if piece and _HIGH <= piece[-1] <= _LOW:
            piece, self._held = piece[:-1], piece[-1]
        piece = clean(piece)
        if piece:
            self._pieces.append(piece)
        return piece

    def text(self) -> str:
        """All of it, in order."""
        return "".join(self._pieces) + clean(self._held)


class Readable:
    """What a person can read of a reply, as far as it came."""

    def __init__(self) -> None:
        self.thinking, self.text = Pieces(), Pieces()

    def parts(self) -> list[ReplyPart]:
        """The parts it makes; what is blank makes none (C17)."""
        thinking, text = self.thinking.text(), self.text.text()
        parts: list[ReplyPart] = [Thinking(thinking)] if thinking.strip() else []
        return [*parts, Text(text)] if text.strip() else parts
