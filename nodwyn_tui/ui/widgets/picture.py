"""Pictures in cells: the small one above the prompt, and what a sheet shows. Files are read and
Pillow is imported in a thread, and only when a picture is first wanted (PERF-1).
"""

import asyncio
import importlib
from collections.abc import Callable
from typing import cast

from rich.segment import Segment
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from nodwyn_tui.link.images import Attached
from nodwyn_tui.ui.widgets.lines import Span, wrap
from nodwyn_tui.ui.widgets.painting import painter_for
from nodwyn_tui.ui.widgets.visible import visible

PREVIEW_ROWS = 6
_PREVIEW_COLUMNS = 32
_Halves = Callable[[str, int, int, tuple[int, int, int]], list[list[Segment]]]


class Picture(Widget):
    """The image of a file in half cells, as large as fits."""

    def __init__(self, *, id: str | None = None, says_failure: bool = False) -> None:
        super().__init__(id=id)
        self._says_failure = says_failure
        self._failure = ""
        """Why there is no picture."""
        self._wanted = "", 0, 0
        self._rows: list[list[Segment]] = []

    def draw(self, path: str, columns: int, rows: int) -> None:
        """Show a file's image in at most so many cells, once it is read; '' is none."""
        self._wanted = path, columns, rows
        if path:
            self.run_worker(self._draw(path, columns, rows), group="picture")
        else:
            self._rows = []
            self.drawn()

    def drawn(self) -> None:
        """What there is to show is another now."""
        self.refresh()

    @property
    def rows_drawn(self) -> int:
        """How many rows the picture has."""
        return len(self._rows)

    async def _draw(self, path: str, columns: int, rows: int) -> None:
        ground = self.background_colors[1].rgb
        try:
            drawn = await asyncio.to_thread(_halves, path, columns, rows, ground)
        except OSError as error:
            drawn, self._failure = [], f"this can't be shown: {error}"
        if (path, columns, rows) == self._wanted:
            self._rows = drawn
            self.drawn()

    def render_lines(self, crop: Region) -> list[Strip]:
        painter = painter_for(self)
        width = self.size.width
        if self._failure and self._says_failure:
            rows = [*wrap([Span(visible(self._failure), "warning")], width), *[()] * crop.bottom]
            return [painter.strip(rows[y], width).crop(crop.x, crop.right) for y in crop.line_range]
        base = painter.style("")
        strips = []
        for y in crop.line_range:
            row = self._rows[y] if y < len(self._rows) else []
            strip = Strip(row).adjust_cell_length(width, base)
            strips.append(strip.crop(crop.x, crop.right))
        return strips

    def render_line(self, y: int) -> Strip:
        [strip] = self.render_lines(Region(0, y, self.size.width, 1))
        return strip


class Preview(Picture):
    """The small one; without an image it takes no room."""

    def show(self, image: Attached | None) -> None:
        """Show an image, or none."""
        path = image.path if image else ""
        if path != self._wanted[0]:
            self.draw(path, _PREVIEW_COLUMNS, PREVIEW_ROWS)

    def drawn(self) -> None:
        self.styles.height = self.rows_drawn
        self.refresh()


def _halves(
    path: str, columns: int, rows: int, ground: tuple[int, int, int]
) -> list[list[Segment]]:
    module = importlib.import_module("nodwyn_tui.ui.widgets.halves")
    return cast("_Halves", module.halves)(path, columns, rows, ground)
