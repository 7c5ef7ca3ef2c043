"""A scrolled view of laid-out rows on the Line API: painting and scrolling.

It knows rows, not what they mean; `transcript.py` does.
"""

from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollDown, ScrollTo, ScrollUp
from textual.strip import Strip

from nodwyn_tui.ui.widgets.lines import BLANK, Line, Span, cells
from nodwyn_tui.ui.widgets.painting import Painter, painter_for
from nodwyn_tui.ui.widgets.selection import Selected
from nodwyn_tui.ui.widgets.viewport import Place, Source, Viewport

MARGIN = 1
"""Cells left and right of the rows; the left one marks the current entry."""
_WHEEL_ROWS = 3
_CURRENT = Span("▌", "primary")
_NOT_CURRENT = Span(" ")


class RowsView(ScrollView):
    """Shows a `Viewport`. `show` after each change of what it shows."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("pageup", "page_up", "a page up"),
        Binding("pagedown", "page_down", "a page down"),
    ]

    def __init__(self, source: Source, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.viewport = Viewport(source)
        self.selected: Selected | None = None
        self.current: int | None = None
        """The entry that the keyboard is at."""
        self.rows: list[tuple[Place, Line]] = []
        self._painter: Painter | None = None

    def on_mount(self) -> None:
        self.watch(self.app, "theme", self._new_theme, init=False)

    def show(self) -> None:
        """Take what is to be seen now, and paint it."""
        self.rows = self.viewport.rows()
        total, offset = self.viewport.total, self.viewport.offset
        # Written past the reactives: their way lays the whole screen out again.
        self.set_reactive(ScrollView.virtual_size, Size(self.size.width, total))
        self.set_reactive(ScrollView.scroll_y, float(offset))
        bar = self.vertical_scrollbar
        bar.window_virtual_size = total
        bar.window_size = self.viewport.height
        bar.position = offset
        self.refresh()

    def render_lines(self, crop: Region) -> list[Strip]:
        """Painted without the cache of styles: no border, no padding, and the filters by hand."""
        painter = self._painter
        if painter is None:
            painter = self._painter = painter_for(self)
        width = max(self.size.width, crop.right)
        strips = []
        for y in crop.line_range:
            place, line = self.rows[y] if y < len(self.rows) else (None, BLANK)
            strips.append(self._strip(painter, place, line, width).crop(crop.x, crop.right))
        return strips

    def render_line(self, y: int) -> Strip:
        [strip] = self.render_lines(Region(0, y, self.size.width, 1))
        return strip

    def scroll_rows(self, rows: int) -> None:
        """Down by so many rows, or up."""
        self.viewport.scroll(rows)
        self.show()

    def action_scroll_up(self) -> None:
        """A row up."""
        self.scroll_rows(-1)

    def action_scroll_down(self) -> None:
        """A row down."""
        self.scroll_rows(1)

    def action_page_up(self) -> None:
        """A page up, two rows staying in view."""
        self.scroll_rows(-max(self.viewport.height - 2, 1))

    def action_page_down(self) -> None:
        """A page down likewise."""
        self.scroll_rows(max(self.viewport.height - 2, 1))

    def action_scroll_home(self) -> None:
        """To the first row."""
        self.viewport.go_to(0)
        self.show()

    def action_scroll_end(self) -> None:
        """To the end, and stay there."""
        self.viewport.go_to_end()
        self.show()

    def _strip(self, painter: Painter, place: Place | None, line: Line, width: int) -> Strip:
        mark = _NOT_CURRENT
        if place is not None and self.has_focus and place.entry == self.current:
            mark = _CURRENT
        strip = painter.strip((mark, *line.spans), width)
        if self.selected and place and (span := self.selected.span(place)):
            begin, end = span
            last = cells(line.spans) if end is None else end
            strip = painter.select(strip, max(begin, 0) + MARGIN, last + MARGIN)
        return strip

    def _new_theme(self) -> None:
        self._painter = None
        self.refresh()

    def _size_updated(
        self, size: Size, virtual_size: Size, container_size: Size, layout: bool = True
    ) -> bool:
        changed = super()._size_updated(size, virtual_size, container_size, layout)
        width = self.scrollable_content_region.width - 2 * MARGIN
        self.viewport.resize(width, size.height)
        self.show()
        return changed

    def _on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.prevent_default().stop()
        self.scroll_rows(_WHEEL_ROWS)

    def _on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.prevent_default().stop()
        self.scroll_rows(-_WHEEL_ROWS)

    def _on_scroll_to(self, message: ScrollTo) -> None:
        message.prevent_default().stop()
        if message.y is not None and message.y <= 0:
            self.action_scroll_home()
        elif message.y is not None:
            self.viewport.go_to(round(message.y))
            self.show()

    def _on_scroll_up(self, message: ScrollUp) -> None:
        message.prevent_default().stop()
        self.scroll_rows(-self.viewport.height)

    def _on_scroll_down(self, message: ScrollDown) -> None:
        message.prevent_default().stop()
        self.scroll_rows(self.viewport.height)
