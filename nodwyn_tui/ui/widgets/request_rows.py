"""A request as it was sent, on the Line API: of a long one only what is near the screen is here,
and the rest is asked for piece by piece (ROL-14, TUI-4).
"""

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, takewhile

from textual.message import Message

from nodwyn_tui.domain.figures import tokens
from nodwyn_tui.link.requests import Piece, PiecesLoaded, WindowShown
from nodwyn_tui.ui.widgets.entries import STATES
from nodwyn_tui.ui.widgets.lines import BLANK, Line, Span, expand_tabs, spread, wrap
from nodwyn_tui.ui.widgets.selectable import SelectableRows
from nodwyn_tui.ui.widgets.visible import one_line, visible

KEPT = 1_000_000
"""Characters of pieces that are kept; others are asked for again."""
NEAR = 8
"""Pieces before and behind the screen that are asked for, so that they are there in time."""
MOST = 100
"""Pieces that are asked for at once."""
MOST_ROWS = 200
"""Rows that a piece is taken to have before it is here, at most."""
_INDENT = 2
_PARTS = {
    "call": "call",
    "result": "result",
    "thinking": "thinking",
    "image": "image",
    "block": "opaque reasoning",
}
"""What stands above a part, but for plain text."""


class RequestText:
    """A source of rows: entry 0 are the facts, then comes an entry for each piece."""

    def __init__(self, shown: WindowShown) -> None:
        self.shown = shown
        self._pieces: OrderedDict[int, Piece] = OrderedDict()
        self._size = 0
        self._asked: set[int] = set()

    def __len__(self) -> int:
        return 1 + self.shown.pieces

    def estimate(self, index: int, width: int) -> int:
        if index == 0:
            return len(self.lay_out(0, width))
        average = self.shown.characters // max(self.shown.pieces, 1)
        return 2 + min(average // max(width - _INDENT, 1), MOST_ROWS)

    def lay_out(self, index: int, width: int) -> list[Line]:
        if index == 0:
            return list(_facts(self.shown, width))
        piece = self._pieces.get(index - 1)
        if piece is None:
            return [Line((Span("…", "dim"),)), *[BLANK] * (self.estimate(index, width) - 1)]
        self._pieces.move_to_end(index - 1)
        return list(_piece_lines(piece, width))

    def wanted(self, first: int, last: int) -> tuple[int, int] | None:
        """The piece to ask for, once, where the entries from `first` to `last` are seen, and how
        many are missing from there on.
        """
        near = range(max(first - 1 - NEAR, 0), min(last + NEAR, self.shown.pieces))
        for at in near:
            if at not in self._pieces and at not in self._asked:
                self._asked.add(at)
                missing = takewhile(lambda n: n not in self._pieces, range(at, self.shown.pieces))
                return at, sum(1 for _ in islice(missing, MOST))
        return None

    def take(self, loaded: PiecesLoaded) -> list[int]:
        """Pieces came; the entries that look different."""
        for at, piece in enumerate(loaded.pieces, loaded.first):
            self._asked.discard(at)
            self._size += len(piece.text) - len(old.text if (old := self._pieces.get(at)) else "")
            self._pieces[at] = piece
        self._asked.discard(loaded.first)
        while self._size > KEPT and len(self._pieces) > len(loaded.pieces):
            self._size -= len(self._pieces.popitem(last=False)[1].text)
        return [1 + loaded.first + n for n in range(len(loaded.pieces))]


class RequestRows(SelectableRows):
    """Shows a request, and says what it needs of it."""

    @dataclass
    class PiecesWanted(Message):
        """Pieces come into view that are not here: from `at` on."""

        at: int
        count: int

    def __init__(self, text: RequestText, *, id: str | None = None) -> None:
        super().__init__(text, id=id)
        self.text = text

    def begin(self, shown: WindowShown) -> None:
        """Show this one, from its top."""
        self.text = RequestText(shown)
        self.viewport.source = self.text
        self.forget_places()
        self.viewport.reset()
        self.viewport.go_to(0)
        self.viewport.hold()  # what comes makes it longer: its end is not followed
        self.show()

    def take(self, loaded: PiecesLoaded) -> None:
        """Pieces of it came."""
        if loaded.seq == self.text.shown.seq:
            for index in self.text.take(loaded):
                self.viewport.changed(index)
            self.show()

    def show(self) -> None:
        super().show()
        if self.rows and self.text.shown.pieces:
            wanted = self.text.wanted(self.rows[0][0].entry, self.rows[-1][0].entry)
            if wanted is not None:
                self.post_message(self.PiecesWanted(*wanted))


def _facts(shown: WindowShown, width: int) -> Iterator[Line]:
    """Which request it was, how large, and that it is the one that was sent."""
    if shown.problem:
        yield from _wrapped(one_line(shown.problem), "warning", width)
        return
    if not shown.seq:
        yield Line((Span("rebuilds it from the log…", "dim"),))
        return
    of = "" if shown.server in shown.model else f" on {shown.server}"
    sent = shown.sent[:19].replace("T", " ")
    yield from _wrapped(
        f"line {shown.seq:,} of the log · {sent} UTC · {shown.model}{of}", "", width
    )
    counted = "" if shown.counted is None else f", {shown.counted:,} counted by the server"
    noun = "message" if shown.messages == 1 else "messages"
    size = f"{shown.messages:,} {noun} · {shown.tokens:,} tokens estimated{counted}"
    yield from _wrapped(f"{size} · a reply may have {shown.max_output:,}", "", width)
    good = "rebuilt from the log ✓ the same bytes, by their SHA-256:"
    yield from _wrapped(good, "success", width)
    yield from _wrapped(shown.digest, "dim", width)


def _piece_lines(piece: Piece, width: int) -> Iterator[Line]:
    if piece.tokens is not None:
        yield BLANK
        yield Line(_row_head(piece, width))
    if piece.begins and piece.role == "tools":
        yield Line((Span("  tool ", "dim"), Span(one_line(piece.title), "strong")))
    elif piece.begins and (word := _PARTS.get(piece.part)):
        yield from _wrapped(f"{word} {one_line(piece.title)}".rstrip(), "secondary", width, 1)
    # What goes on in another piece ends with its line.
    text = piece.text if piece.ends else piece.text.removesuffix("\n")
    if piece.part == "image":
        return
    role = "dim" if piece.part in ("thinking", "block") else ""
    for row in expand_tabs(visible(text)).split("\n"):
        yield from _wrapped(row, role, width, _INDENT)


def _row_head(piece: Piece, width: int) -> tuple[Span, ...]:
    size = f"~{tokens(piece.tokens or 0)} tokens"
    if piece.row == 0:
        return spread([Span("system", "heading")], [Span(f"{size} with the tools", "dim")], width)
    state = STATES[piece.state][0] if piece.state != "in" else ""
    left = [Span(f"{piece.row} ", "dim"), Span(piece.role, "heading")]
    if piece.line:
        left.append(Span(f" · line {piece.line}", "dim"))
    return spread(left, [Span(" · ".join(filter(None, (state, size))), "dim")], width)


def _wrapped(text: str, role: str, width: int, indent: int = 0) -> Iterator[Line]:
    pad = Span(" " * indent)
    for n, spans in enumerate(wrap([Span(text, role)], width - indent, whole=indent == _INDENT)):
        yield Line((pad, *spans) if indent else spans, indent, soft=n > 0)
