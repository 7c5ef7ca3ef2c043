"""Markdown that is still being written: blocks that are closed are laid out once, and only what may
still change is laid out again (TUI-13).
"""

from markdown_it.token import Token

from nodwyn_tui.ui.widgets.lines import BLANK, Line
from nodwyn_tui.ui.widgets.markdown import is_tight, parse, write
from nodwyn_tui.ui.widgets.visible import visible

_LONG_BLOCK = 24
"""Lines that one open block may have before its finished part is closed too."""
_LONG_PARAGRAPH = 3000
"""Characters; a paragraph beyond it is cut at a blank, until its reply ends."""


class LiveMarkdown:
    """A text that grows. `lines` is cheap to call again after each `add`."""

    def __init__(self) -> None:
        self.text = ""
        self._new: list[str] = []
        self._tail = ""
        self._closed: list[Line] = []
        self._gap = False
        """Whether a blank line separates what is closed from what follows."""
        self._width = 0

    def add(self, piece: str) -> None:
        """More text at the end."""
        self._new.append(piece)

    def lines(self, width: int) -> list[Line]:
        """The text so far, laid out in `width` cells."""
        new = "".join(self._new)
        self._new.clear()
        self.text += new
        self._tail += new
        if width != self._width:
            self._width, self._tail, self._closed, self._gap = width, self.text, [], False
        tokens = parse(visible(self._tail))
        if cut := self._cut(tokens):
            at, reopen, gap = cut
            self._settle(self._tail[:at], gap=gap)
            self._tail = reopen + self._tail[at:]
            tokens = parse(visible(self._tail))
        tail = write(tokens, width)
        return [*self._closed, *([BLANK] if self._gap and tail else []), *tail]

    def _cut(self, tokens: list[Token]) -> tuple[int, str, bool] | None:
        """Up to which character the tail is closed, what opens the rest again, and whether a blank
        line belongs between them; `None` if all may still change.
        """
        blocks = [token for token in tokens if token.level == 0 and token.nesting >= 0]
        if len(blocks) > 1:
            return self._line_start(blocks[-1]), "", True
        return self._cut_block(blocks[0], tokens) if blocks else None

    def _cut_block(self, block: Token, tokens: list[Token]) -> tuple[int, str, bool] | None:
        """The same within one block that has grown long."""
        if block.type == "paragraph_open" and len(self._tail) > _LONG_PARAGRAPH:
            return self._tail.rfind(" ", 0, -1) + 1, "", False
        first, end = block.map or (0, 0)
        if end - first <= _LONG_BLOCK:
            return None
        if block.type == "fence":
            return self._fence_cut(block)
        items = [token for token in tokens if token.type == "list_item_open" and token.level == 1]
        return (self._line_start(items[-1]), "", not is_tight(tokens, 0)) if items[1:] else None

    def _fence_cut(self, fence: Token) -> tuple[int, str, bool] | None:
        """An open fence is closed up to its last line's begin, and opened again for that line."""
        lines = self._tail.split("\n")
        if lines[-1].strip().startswith(fence.markup) or (
            not lines[-1] and lines[-2].strip().startswith(fence.markup)
        ):
            return None
        return len(self._tail) - len(lines[-1]), lines[self._first_line(fence)] + "\n", False

    def _settle(self, text: str, *, gap: bool) -> None:
        lines = write(parse(visible(text)), self._width)
        if self._gap and lines:
            self._closed.append(BLANK)
        self._closed += lines
        self._gap = gap

    def _line_start(self, token: Token) -> int:
        lines = self._tail.split("\n")[: self._first_line(token)]
        return sum(len(line) + 1 for line in lines)

    @staticmethod
    def _first_line(token: Token) -> int:
        return token.map[0] if token.map else 0
