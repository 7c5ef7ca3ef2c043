"""Lines to strips: the one place where roles meet the terminal's styles."""

from collections.abc import Sequence

from rich.segment import Segment
from rich.style import Style
from textual.filter import LineFilter
from textual.strip import Strip
from textual.widget import Widget

from nodwyn_tui.ui.widgets.lines import Span
from nodwyn_tui.ui.widgets.palette import Palette, palette_of

_KEPT = 1024


class Painter:
    """Paints lines under one palette, and keeps what it painted."""

    def __init__(self, palette: Palette, filters: Sequence[LineFilter] = ()) -> None:
        self._palette = palette
        self._filters = filters
        self._strips: dict[tuple[tuple[Span, ...], int, str], Strip] = {}

    def style(self, role: str) -> Style:
        """What a role looks like."""
        return self._palette.style(role)

    def strip(self, spans: tuple[Span, ...], width: int, role: str = "") -> Strip:
        """Spans in exactly `width` cells; `role` lies under all of it."""
        key = (spans, width, role)
        strip = self._strips.get(key)
        if strip is None:
            if len(self._strips) >= _KEPT:
                self._strips.clear()
            strip = self._strips[key] = self._paint(spans, width, role)
        return strip

    def select(self, strip: Strip, begin: int, end: int) -> Strip:
        """A strip with the cells from `begin` to before `end` marked as selected."""
        size = strip.cell_length
        begin, end = min(begin, size), min(end, size)
        if begin >= end:
            return strip
        marked = Segment.apply_style(
            strip.crop(begin, end), post_style=self._palette.style("selected")
        )
        return Strip.join([strip.crop(0, begin), Strip(marked), strip.crop(end, size)])

    def _paint(self, spans: tuple[Span, ...], width: int, role: str) -> Strip:
        style = self._palette.style
        base = style(role)
        strip = Strip(
            [Segment(span.text, style(f"{role} {span.role}")) for span in spans if span.text]
        ).adjust_cell_length(width, base)
        for line_filter in self._filters:
            strip = strip.apply_filter(line_filter, self._palette.background)
        return strip


def painter_for(widget: Widget) -> Painter:
    """A painter in the colours of the theme that a widget is shown under."""
    palette = palette_of(widget.app.theme_variables, plain=widget.app.no_color)
    return Painter(palette, widget.app.get_line_filters())
