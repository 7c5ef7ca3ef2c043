"""A few rows that belong together, drawn from parts: header, meter, footer and their like."""

from collections.abc import Iterable

from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from nodwyn_tui.ui.widgets.lines import Span
from nodwyn_tui.ui.widgets.painting import Painter, painter_for

Row = tuple[Span, ...]


class Bar(Widget):
    """Shows what `bar_rows` gives. A bar without rows takes no room."""

    ROLE = ""
    """What lies under its rows."""
    ONE_ROW = False
    """Whether it always has one row, so that nothing has to find out."""
    FIRST_ROWS = 0
    """How many rows it has at first; the stylesheet says the same."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._painter: Painter | None = None
        self._height = self.FIRST_ROWS

    def on_mount(self) -> None:
        self.watch(self.app, "theme", self._new_theme, init=False)

    def bar_rows(self, width: int) -> Iterable[Row]:
        """The rows, each at most `width` cells."""
        raise NotImplementedError

    def redraw(self) -> None:
        """Draw again; the screen is laid out again only if the number of rows changed."""
        self.refresh()
        if self.ONE_ROW:
            return
        width = self.content_size.width or self.app.size.width
        height = len(list(self.bar_rows(width)))
        if height != self._height:
            self._height = height
            self.styles.height = height

    def on_resize(self) -> None:
        self.redraw()

    def render_lines(self, crop: Region) -> list[Strip]:
        painter = self._painter
        if painter is None:
            painter = self._painter = painter_for(self)
        width = self.size.width
        rows = [*self.bar_rows(width), *[()] * crop.bottom]
        return [
            painter.strip(rows[y], width, self.ROLE).crop(crop.x, crop.right)
            for y in crop.line_range
        ]

    def render_line(self, y: int) -> Strip:
        [strip] = self.render_lines(Region(0, y, self.size.width, 1))
        return strip

    def _new_theme(self) -> None:
        self._painter = None
        self.refresh()


def joined(parts: Iterable[Row], between: Span) -> Row:
    """Parts in a row, those that are empty left out."""
    spans: list[Span] = []
    for part in parts:
        if part:
            spans += [between] * bool(spans) + list(part)
    return tuple(spans)
