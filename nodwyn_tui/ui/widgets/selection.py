"""Text selected in the transcript, held by entry, row and cell, so that neither scrolling nor a
corrected height moves it off its words (TUI-17).
"""

from typing import NamedTuple

from nodwyn_tui.ui.widgets.lines import Line, clip
from nodwyn_tui.ui.widgets.viewport import Place, Viewport


class Spot(NamedTuple):
    """A cell of the story."""

    entry: int
    row: int
    cell: int


class Selected(NamedTuple):
    """From one spot to another, either first; the cell at the later one counts."""

    anchor: Spot
    head: Spot

    def span(self, place: Place) -> tuple[int, int | None] | None:
        """The cells of a row that are selected, from and to (`None`: to its end)."""
        first, last = sorted(self)
        if not first[:2] <= place <= last[:2]:
            return None
        begin = first.cell if place == first[:2] else 0
        return begin, (last.cell + 1 if place == last[:2] else None)

    def text(self, viewport: Viewport) -> str:
        """What a copy gets: wrapped lines joined again, decoration left out."""
        first, last = sorted(self)
        parts: list[str] = []
        for index in range(first.entry, last.entry + 1):
            for row, line in enumerate(viewport.lines(index)):
                span = self.span(Place(index, row))
                if span is None:
                    continue
                if parts and not line.soft:
                    parts.append("\n")
                parts.append(_piece(line, *span))
        return "".join(parts).strip("\n")


def _piece(line: Line, begin: int, end: int | None) -> str:
    """The text between two cells of a line, without its decoration and the blanks that fill it."""
    text = clip(line, max(begin, line.lead), end)
    return text if line.soft or end is not None else text.rstrip()
