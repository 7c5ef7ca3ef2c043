"""The reply that is being written: thinking as one line, the text, and the calls that take shape.
It stands below the entries until those that replace it have come.
"""

from nodwyn_tui.link.events import CallPiece, EntryKind, ReplyPiece
from nodwyn_tui.ui.widgets import rendering
from nodwyn_tui.ui.widgets.entries import INDENT
from nodwyn_tui.ui.widgets.lines import BLANK, Line, Span, cut
from nodwyn_tui.ui.widgets.visible import one_line


class LiveReply:
    """Up to three kinds of live entries, in the order that their settled ones will have."""

    def __init__(self) -> None:
        self._thought = 0
        self._text: rendering.Live | None = None
        self._calls: dict[int, CallPiece] = {}

    def __len__(self) -> int:
        return bool(self._thought) + (self._text is not None) + len(self._calls)

    def add(self, piece: ReplyPiece | CallPiece) -> None:
        """More of the reply."""
        if isinstance(piece, CallPiece):
            self._calls[piece.index] = piece
        elif piece.kind == "thinking":
            self._thought += len(piece.text)
        else:
            if self._text is None:
                self._text = rendering.live_markdown()
            self._text.add(piece.text)

    def clear(self) -> None:
        """The reply has ended."""
        self._thought, self._text = 0, None
        self._calls.clear()

    def kind(self, number: int) -> EntryKind:
        """What the live entry `number` will be."""
        if self._thought and number == 0:
            return "thinking"
        return "assistant" if self._text and number == bool(self._thought) else "call"

    def lay_out(self, number: int, before: EntryKind, width: int) -> list[Line]:
        """The live entry `number`, below one of the kind `before`."""
        kind = self.kind(number)
        if kind == "thinking":
            lines = [_line("▸ ", "", f"thinking · {self._thought:,} characters", width)]
        elif kind == "assistant" and self._text is not None:
            pad = Span(" " * INDENT)
            lines = [
                Line((pad, *line.spans), line.lead + INDENT, line.soft)
                for line in self._text.lines(width - INDENT)
            ]
        else:
            piece = list(self._calls.values())[number - (len(self) - len(self._calls))]
            size = f" · {piece.chars:,} characters written" if piece.chars else ""
            lines = [_line("○ ", one_line(piece.name) or "a call", size, width)]
        tight = before in ("call", "thinking") and kind in ("call", "thinking")
        return lines if tight else [BLANK, *lines]


def _line(mark: str, name: str, rest: str, width: int) -> Line:
    return Line(cut([Span(mark, "dim"), Span(name, "strong"), Span(rest, "dim")], width))
