"""Pictures in cells: the small one above the prompt, and what a sheet shows. Files are read and
Pillow is imported in a thread, and only when a picture is first wanted (PERF-1).
"""

import asyncio
import importlib
from typing import cast

from rich.control import Control
from rich.segment import ControlType, Segment
from rich.style import Style
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from nodwyn_tui.domain.words import Pictures
from nodwyn_tui.link.images import Attached
from nodwyn_tui.ui.widgets.drawn import Drawn, Rgb
from nodwyn_tui.ui.widgets.lines import Span, wrap
from nodwyn_tui.ui.widgets.painting import painter_for
from nodwyn_tui.ui.widgets.visible import visible

PREVIEW_ROWS = 6
_PREVIEW_COLUMNS = 32
_ROOM = "nodwyn_tui.ui.widgets."
_Wanted = tuple[str, int, int]


class Picture(Widget):
    """The image of a file, as large as fits, in the middle."""

    def __init__(self, pictures: Pictures = "halves", *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.pictures = pictures
        self._failure = ""
        """Why there is no picture."""
        self._wanted: _Wanted = "", 0, 0
        self._drawn = Drawn()

    def draw(self, path: str, columns: int, rows: int) -> None:
        """Show a file's image in at most so many cells, once it is read; '' is none."""
        wanted = path, columns, rows
        if wanted == self._wanted:
            return
        self._wanted = wanted
        if path and columns > 0 and rows > 0:
            self.run_worker(self._read(wanted), group="picture")
        else:
            self._show(Drawn())

    def on_unmount(self) -> None:
        self._write(self._drawn.after)

    def drawn(self) -> None:
        """What there is to show is another now."""
        self.refresh()

    @property
    def rows_drawn(self) -> int:
        """How many rows the picture has."""
        return len(self._drawn.rows)

    @property
    def place(self) -> tuple[int, int]:
        """Where in the widget its first cell is."""
        size = self.size
        left, top = size.width - self._drawn.columns, size.height - self.rows_drawn
        return max(left // 2, 0), max(top // 2, 0)

    async def _read(self, wanted: _Wanted) -> None:
        way = self.pictures
        if way == "kitty" and self.app.console.color_system != "truecolor":
            way = "halves"  # its cells name the picture by their colour
        ground = self.background_colors[1].rgb
        try:
            drawn = await asyncio.to_thread(_drawn, way, wanted, ground)
        except OSError as error:
            drawn, self._failure = Drawn(), f"This can't be shown: {error}"
        if wanted == self._wanted and self.is_attached:
            self._show(drawn)
        # else what was read never got to the terminal

    def _show(self, drawn: Drawn) -> None:
        self._write(self._drawn.after + drawn.before)
        self._drawn = drawn
        self.drawn()

    def _write(self, text: str) -> None:
        """To the terminal, in order with what is painted."""
        if text and (driver := self.app._driver) is not None:
            driver.write(text)

    def render_lines(self, crop: Region) -> list[Strip]:
        painter = painter_for(self)
        width = self.size.width
        if self._failure:
            rows = [*wrap([Span(visible(self._failure), "warning")], width), *[()] * crop.bottom]
            return [painter.strip(rows[y], width).crop(crop.x, crop.right) for y in crop.line_range]
        base = painter.style("")
        left, top = self.place
        strips = []
        for y in crop.line_range:
            row = self._drawn.rows[y - top] if 0 <= y - top < self.rows_drawn else ()
            strip = Strip([Segment(" " * left, base), *row]).adjust_cell_length(width, base)
            strips.append(strip.crop(crop.x, crop.right))
        if self._drawn.over and strips:
            strips[-1] = self._with_pixels(strips[-1])
        return strips

    def render_line(self, y: int) -> Strip:
        [strip] = self.render_lines(Region(0, y, self.size.width, 1))
        return strip

    def _with_pixels(self, last: Strip) -> Strip:
        """The last row that is painted, with the pixels behind it: nothing is painted over them."""
        left, top = self.place
        region = self.region
        at = Control.move_to(region.x + left, region.y + top).segment.text
        on = Control.move_to(region.right, region.bottom - 1).segment.text
        pixels = Segment(at + self._drawn.over + on, Style(), [(ControlType.CURSOR_FORWARD, 0)])
        return Strip([*last, pixels], last.cell_length)


class Preview(Picture):
    """The small one; without an image it takes no room."""

    def show(self, image: Attached | None) -> None:
        """Show an image, or none."""
        self.draw(image.path if image else "", _PREVIEW_COLUMNS, PREVIEW_ROWS)

    @property
    def place(self) -> tuple[int, int]:
        return 1, 0

    def drawn(self) -> None:
        self._failure = ""
        self.styles.height = self.rows_drawn
        self.refresh()


def _drawn(way: Pictures, wanted: _Wanted, ground: Rgb) -> Drawn:
    """In pixels where that is possible, else in half cells."""
    if way in ("kitty", "sixel"):
        pixels = importlib.import_module(_ROOM + "graphics").drawn(*wanted, way)
        if pixels is not None:
            return cast("Drawn", pixels)
    return cast("Drawn", importlib.import_module(_ROOM + "halves").halves(*wanted, ground))
