"""An image as rows of half cells, two pixels above each other in each. Imports Pillow: loaded in a
thread when a picture is first wanted, through `picture.py`.
"""

from collections.abc import Iterator

from PIL import Image
from rich.color import Color
from rich.color_triplet import ColorTriplet
from rich.segment import Segment
from rich.style import Style

from nodwyn_tui.ui.widgets.drawn import Drawn, Rgb


def halves(path: str, columns: int, rows: int, ground: Rgb) -> Drawn:
    """The image of a file in at most so many cells, never larger than it is; what is transparent
    shows `ground`. `OSError` where it can't be read.
    """
    try:
        with Image.open(path) as image:
            image.draft("RGB", (columns * 2, rows * 4))
            pixels = _on_ground(_fitted(image, columns, rows * 2), ground)
    except (ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise OSError(str(error)) from error
    return Drawn(rows=[_row(upper, lower) for upper, lower in _pairs(pixels, ground)])


def _fitted(image: Image.Image, width: int, height: int) -> Image.Image:
    scale = min(width / image.width, height / image.height, 1)
    size = max(round(image.width * scale), 1), max(round(image.height * scale), 1)
    return image.convert("RGBA").resize(size, Image.Resampling.BOX)


def _on_ground(image: Image.Image, ground: Rgb) -> Image.Image:
    below = Image.new("RGBA", image.size, (*ground, 255))
    return Image.alpha_composite(below, image).convert("RGB")


def _pairs(image: Image.Image, ground: Rgb) -> Iterator[tuple[list[Rgb], list[Rgb]]]:
    data, width = image.tobytes(), image.width
    rows = [
        [(data[n], data[n + 1], data[n + 2]) for n in range(at, at + width * 3, 3)]
        for at in range(0, len(data), width * 3)
    ]
    if len(rows) % 2:
        rows.append([ground] * width)
    return zip(rows[::2], rows[1::2], strict=True)


def _row(upper: list[Rgb], lower: list[Rgb]) -> list[Segment]:
    """Cells that look the same are one segment."""
    segments: list[Segment] = []
    last, count = (upper[0], lower[0]), 0
    for pair in zip(upper, lower, strict=True):
        if pair != last:
            segments.append(_cells(*last, count))
            last, count = pair, 0
        count += 1
    segments.append(_cells(*last, count))
    return segments


def _cells(upper: Rgb, lower: Rgb, count: int) -> Segment:
    front, back = (Color.from_triplet(ColorTriplet(*rgb)) for rgb in (upper, lower))
    return Segment("▀" * count, Style(color=front, bgcolor=back))
