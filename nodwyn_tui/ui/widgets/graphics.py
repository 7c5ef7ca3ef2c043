"""Pictures in pixels, where the terminal has a protocol for them, by textual-image. Imports that
and Pillow: loaded in a thread when a picture is first wanted, through `picture.py`.

At its import, and to measure a cell, textual-image asks the terminal and reads the answer, which
would take keys from the app. It asks none where there is no terminal, so there is none while it is
at work; what it writes to the terminal is kept, and goes out in order with what Textual writes.
"""

import importlib
import io
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

from PIL import Image
from rich.console import Console
from rich.segment import Segment

from nodwyn_tui.ui.widgets.drawn import Drawn

if sys.platform != "win32":
    import fcntl
    import termios

Cell = tuple[int, int]
_USUAL_CELL = (10, 20)


def drawn(path: str, columns: int, rows: int, way: Literal["kitty", "sixel"]) -> Drawn | None:
    """The image of a file in at most so many cells, never larger than it is; `None` where that
    can't be told in pixels. `OSError` where it can't be read.
    """
    cell = cell_size()
    if cell is None and way == "sixel":  # it would cover what stands beside it
        return None
    try:
        with Image.open(path) as image:
            image.load()
            shown = image.convert("RGBA")
    except (ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise OSError(str(error)) from error
    cell = cell or _USUAL_CELL
    scale = min(columns * cell[0] / shown.width, rows * cell[1] / shown.height, 1)
    width = max(min(round(shown.width * scale / cell[0]), columns), 1)
    height = max(min(round(shown.height * scale / cell[1]), rows), 1)
    with _no_terminal() as written:
        return _render(shown, width, height, way, cell, written)


def _render(
    image: Image.Image, width: int, height: int, way: str, cell: Cell, written: io.StringIO
) -> Drawn:
    ways: Any = importlib.import_module("textual_image.renderable")
    terminal: Any = importlib.import_module("textual_image._terminal")
    terminal.get_cell_size._result = terminal.CellSize(*cell)
    made = (ways.TGPImage if way == "kitty" else ways.SixelImage)(image, width, height)
    console = Console(width=width, height=height, file=io.StringIO())
    given = made.__rich_console__(console, console.options)
    segments = [part for part in given if isinstance(part, Segment)]
    if way == "sixel":
        over = "".join(s.text for s in segments if s.text.startswith("\x1bP"))
        return Drawn(rows=[[Segment(" " * width)]] * height, over=over)
    rows = list(Segment.split_lines(segments))[:height]
    gone = f"\x1b_Ga=d,d=I,i={made.terminal_image_id},q=2\x1b\\"
    return Drawn(rows=rows, before=written.getvalue(), after=gone)


@contextmanager
def _no_terminal() -> Iterator[io.StringIO]:
    """What textual-image takes for the terminal is no terminal, and keeps what is written."""
    real, kept = sys.__stdout__, io.StringIO()
    sys.__stdout__ = kept  # type: ignore[misc,assignment] # the one way that it leaves
    try:
        yield kept
    finally:
        sys.__stdout__ = real  # type: ignore[misc]


def cell_size() -> Cell | None:
    """Pixels of a cell, as the terminal's own size says; `None` where it does not."""
    if sys.platform == "win32":
        return None
    for stream in (sys.__stderr__, sys.__stdout__, sys.__stdin__):
        try:
            told = (
                fcntl.ioctl(stream.fileno(), termios.TIOCGWINSZ, bytes(8)) if stream else bytes(8)
            )
        except (OSError, ValueError):
            continue
        rows, columns, width, height = struct.unpack("HHHH", told)
        if rows and columns and width >= columns and height >= rows:
            return width // columns, height // rows
    return None
