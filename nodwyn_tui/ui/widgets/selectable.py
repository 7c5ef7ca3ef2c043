"""Rows that the mouse can click, and select text from, also beyond the edge (TUI-17)."""

from collections.abc import Callable
from dataclasses import dataclass

from textual import events
from textual.message import Message
from textual.timer import Timer

from nodwyn_tui.ui.widgets.lines import cells
from nodwyn_tui.ui.widgets.rows_view import MARGIN, RowsView
from nodwyn_tui.ui.widgets.selection import Selected, Spot
from nodwyn_tui.ui.widgets.viewport import Place, Source

_DRAG_S = 0.05


class SelectableRows(RowsView):
    """The selection is kept by the rows' own places, not by Textual, whose own neither grows while
    one widget scrolls nor stays on its words when a height is corrected.
    """

    ALLOW_SELECT = False

    @dataclass
    class SpanClicked(Message):
        """A click on a span with a link: an address, or a word between those who lay out."""

        link: str

    def __init__(self, source: Source, *, id: str | None = None) -> None:
        super().__init__(source, id=id)
        self._down: Spot | None = None
        self._drag: Timer | None = None
        self._drag_at = (0, 0)

    def place_at(self, y: int) -> Place | None:
        """The entry and row at a row of the screen."""
        return self.rows[y][0] if 0 <= y < len(self.rows) else None

    def selected_text(self) -> str:
        """What is selected, as a copy gets it."""
        return self.selected.text(self.viewport) if self.selected else ""

    def forget_places(self) -> None:
        """Nothing is selected and no entry current: the rows are others."""
        self.selected = self.current = self._down = None

    def move_places(self, moved: Callable[[Place], Place | None]) -> None:
        """What is selected, and the current entry, are where `moved` says."""
        if self.current is not None:
            at = moved(Place(self.current, 0))
            self.current = at.entry if at else None
        self._down = self._down and self._down.moved(moved)
        self.selected = self.selected and self.selected.moved(moved)

    def on_mouse_down(self, event: events.MouseDown) -> None:
        self._down = self._spot(event.x, event.y)
        if self.selected is not None:
            self.selected = None
            self.refresh()
        self.capture_mouse()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if self._down is None:
            return
        self._drag_at = (event.x, event.y)
        outside = not 0 <= event.y < self.size.height
        if outside and self._drag is None:
            self._drag = self.set_interval(_DRAG_S, self._drag_on)
        elif not outside:
            self._end_drag()
        self._select()

    def on_mouse_up(self, event: events.MouseUp) -> None:
        self.release_mouse()
        self._end_drag()
        if self._down is not None and self.selected is None:
            self._clicked(event)
        self._down = None

    def clicked_row(self, place: Place) -> None:
        """A click on a row, but not on a link."""

    def _clicked(self, event: events.MouseUp) -> None:
        place = self.place_at(event.y)
        if place is None:
            return
        at = MARGIN
        for span in self.rows[event.y][1].spans:
            at += cells([span])
            if event.x < at:
                if span.link:
                    self.post_message(self.SpanClicked(span.link))
                    return
                break
        self.clicked_row(place)

    def _spot(self, x: int, y: int) -> Spot | None:
        if not self.rows:
            return None
        place = self.rows[min(max(y, 0), len(self.rows) - 1)][0]
        cell = 0 if y < 0 else 10_000 if y >= len(self.rows) else max(x - MARGIN, 0)
        return Spot(place.entry, place.row, cell)

    def _select(self) -> None:
        head = self._spot(*self._drag_at)
        if self._down is not None and head is not None and head != self._down:
            self.selected = Selected(self._down, head)
            self.refresh()

    def _drag_on(self) -> None:
        """The mouse rests beyond an edge: scroll, the faster the farther, and let the selection
        grow with it.
        """
        y = self._drag_at[1]
        self.scroll_rows(y if y < 0 else y - self.size.height + 1)
        self._select()

    def _end_drag(self) -> None:
        if self._drag is not None:
            self._drag.stop()
            self._drag = None
