"""Text selected in the transcript, held by entry, row and cell, so that neither scrolling nor a
corrected height moves it off its words (TUI-17).
"""

from collections.abc import Callable
from typing import NamedTuple

from nodwyn_tui.ui.widgets.lines import clip
from nodwyn_tui.ui.widgets.viewport import Place, Viewport


class Spot(NamedTuple):
    """A cell of the story."""

    entry: int
    row: int
    cell: int

    def moved(self, moved: Callable[[Place], Place | None]) -> "Spot | None":
        """Where it is since entries came or went; `None` if it went with them."""
        place = moved(Place(self.entry, self.row))
        return Spot(*place, self.cell) if place else None


class Selected(NamedTuple):
    """From one spot to another, either first; the cell at the later one counts."""

    anchor: Spot
    head: Spot

    def moved(self, moved: Callable[[Place], Place | None]) -> "Selected | None":
        """The same words since entries came or went; `None` if some of them went."""
        anchor, head = self.anchor.moved(moved), self.head.moved(moved)
        return Selected(anchor, head) if anchor and head else None

    def span(self, place: Place) -> tuple[int, int | None] | None:
        """The cells of a row that are selected, from and to (`None`: to its end)."""
        first, last = sorted(self)
        if not first[:2] <= place <= last[:2]:
            return None
        begin = first.cell if place == first[:2] else 0
        return begin, (last.cell + 1 if place == last[:2] else None)

    def text(self, viewport: Viewport) -> str:
        """What a copy gets: wrapped lines joined again, decoration and filling left out."""
        first, last = sorted(self)
        lines: list[str] = []
        for index in range(first.entry, last.entry + 1):
            for row, line in enumerate(viewport.lines(index)):
                span = self.span(Place(index, row))
                if span is None:
                    continue
                begin, end = span
                piece = clip(line, max(begin, line.lead), end)
                if line.soft and lines:
                    lines[-1] += piece
                else:
                    lines.append(piece)
        return "\n".join(line.rstrip() for line in lines).strip("\n")
