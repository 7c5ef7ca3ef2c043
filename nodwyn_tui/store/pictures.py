"""A stranger's image file made fit to be kept and sent (IMG-3): upright, bare of metadata, within
the tightest provider's limits. The only file that imports Pillow; who calls it does so in a thread.

All images become PNG or JPEG, which every server reads, local ones too.
"""

import contextlib
import io
import math
import struct
import warnings
import zlib
from collections.abc import Iterator

from PIL import Image, UnidentifiedImageError

from nodwyn_tui.domain.canonical import clean
from nodwyn_tui.errors import UsageError
from nodwyn_tui.store.images import Picture
from nodwyn_tui.store.picture_files import READABLE, SVG, kind_of

LONG_SIDE = 2_000
"""Pixels; more than one provider takes where many images are sent."""
MOST_BYTES = 3_700_000
"""Of a stored image, so that its base64 form stays below 5 MB."""
MOST_PIXELS = 64_000_000
"""Of a file that is opened: what it takes in memory is four bytes a pixel, twice."""

_BROKEN = (OSError, ValueError, SyntaxError, EOFError, OverflowError, struct.error, zlib.error)
_ODD = (KeyError, IndexError, TypeError, ZeroDivisionError, AttributeError, MemoryError)
"""What Pillow raises for files that are none, or were tampered with."""

_FORMATS: tuple[str, ...] = (
    "PNG",
    "JPEG",
    "WEBP",
    "GIF",
    "AVIF",
    "BMP",
    "DIB",
    "TIFF",
    "ICO",
    "PPM",
    "TGA",
)
_FORMATS += ("JPEG2000", "QOI", "PCX")
"""Those that start no other program and load no other file."""

_ORIENTATION = 0x0112
_TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
_LOSSY = ("JPEG", "MPO")
_QUALITIES = (90, 80, 65)

_SAME_COLOURS = frozenset({"1", "L", "LA", "La", "P", "PA", "RGB", "RGBA", "RGBa", "RGBX"})
"""Modes whose colours are the same in eight bits of red, green and blue."""


def made(data: bytes, name: str) -> Picture:
    """The image that a file's bytes hold. `UsageError` names the file and what can be done."""
    if not data:
        raise UsageError(f"{name} is empty")
    with _told(name, data), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is odd about a file is its maker's business
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        with Image.open(io.BytesIO(data), formats=_FORMATS) as image:
            return _fit(image, name)


@contextlib.contextmanager
def _told(name: str, data: bytes) -> Iterator[None]:
    """Pillow's exceptions as one that names the file."""
    try:
        yield
    except (Image.DecompressionBombWarning, Image.DecompressionBombError) as error:
        raise UsageError(_too_large(name)) from error
    except UnidentifiedImageError as error:
        kind = kind_of(data)
        what = f"is {kind}, which cannot be read here" if kind else "is no image"
        hint = "it is text, so name its path in the message" if kind == SVG else ""
        raise UsageError(f"{name} {what}: {hint or f'{READABLE} can be attached'}") from error
    except (*_BROKEN, *_ODD) as error:
        raise UsageError(
            f"{name} is damaged, or not all of it is there: {clean(str(error))[:200]}"
        ) from error


def _too_large(name: str) -> str:
    return f"{name} has more than {MOST_PIXELS / 1e6:.0f} million pixels: make it smaller first"


def _fit(image: Image.Image, name: str) -> Picture:
    """The image as it is kept, with what was done to it."""
    kind, (width, height) = image.format or "", image.size
    if width * height > MOST_PIXELS:
        raise UsageError(_too_large(name))
    done: list[str] = []
    if kind != "MPO" and getattr(image, "is_animated", False):
        done.append("its first picture only")
    image.load()
    turned = _upright(image)
    if turned is not image:
        done.append("turned upright")
    if turned.mode not in _SAME_COLOURS:
        done.append("its colours made plain")
    plain = _plain(turned)
    if max(plain.size) > LONG_SIDE:
        done.append(f"scaled down from {plain.width}\N{MULTIPLICATION SIGN}{plain.height}")
        plain = _scaled(plain, LONG_SIDE / max(plain.size))
    data, mime, plain = _encoded(plain, lossy=kind in _LOSSY)
    was = "JPEG" if kind == "MPO" else kind
    if (now := mime.removeprefix("image/").upper()) != was:
        done.append(f"converted from {was} to {now}")
    return Picture(
        data=data, mime=mime, width=plain.width, height=plain.height, note=", ".join(done)
    )


def _upright(image: Image.Image) -> Image.Image:
    """The image turned as its camera said it is to be seen."""
    turn = None
    with contextlib.suppress(*_BROKEN, *_ODD):  # a broken note of the camera turns nothing
        turn = _TURNS.get(image.getexif().get(_ORIENTATION, 1))
    return image if turn is None else image.transpose(turn)


def _plain(image: Image.Image) -> Image.Image:
    """The image in red, green, blue and, where it has any, transparency; without metadata."""
    if image.mode.startswith(("I", "F")):
        image = _eight_bits(image)
    clear = image.mode in {"RGBA", "LA", "PA", "RGBa", "La"} or "transparency" in image.info
    plain = image.convert("RGBA" if clear else "RGB")
    bare = Image.new(plain.mode, plain.size)
    bare.paste(plain)
    return bare


def _eight_bits(image: Image.Image) -> Image.Image:
    """Grey of 16 or 32 bits, or of fractions, in the 256 greys that it comes nearest to."""
    found = image.convert("F")
    low, high = map(float, _extrema(found))
    if not (math.isfinite(low) and math.isfinite(high)):
        low, high = 0.0, 1.0
    elif low >= 0:
        low, high = 0.0, next((top for top in _tops(image.mode) if high <= top), high)
    scale = 255.0 / ((high - low) or 1.0)
    return found.point(lambda value: value * scale - low * scale).convert("L")


def _extrema(image: Image.Image) -> tuple[float, float]:
    low, high = image.getextrema()
    assert not isinstance(low, tuple), "it has one band"
    assert not isinstance(high, tuple), "it has one band"
    return low, high


def _tops(mode: str) -> tuple[float, ...]:
    """What white may be in a mode; the least that is not passed is taken to be it."""
    if mode.startswith("I;16"):
        return (65_535.0,)
    return (1.0, 255.0, 65_535.0) if mode == "F" else (255.0, 65_535.0)


def _scaled(image: Image.Image, by: float) -> Image.Image:
    """A smaller one, of at least one pixel each way (C37)."""
    size = max(round(image.width * by), 1), max(round(image.height * by), 1)
    return image.resize(size, Image.Resampling.LANCZOS)


def _encoded(image: Image.Image, *, lossy: bool) -> tuple[bytes, str, Image.Image]:
    """The image as PNG, or as JPEG where it was one or PNG would be too large; smaller, where even
    that is too large. Gives what was encoded too.
    """
    if not lossy:
        data = _saved(image, "PNG", compress_level=6)
        if len(data) <= MOST_BYTES:
            return data, "image/png", image
    flat = _on_white(image)
    while True:
        for quality in _QUALITIES:
            data = _saved(flat, "JPEG", quality=quality)
            if len(data) <= MOST_BYTES:
                return data, "image/jpeg", flat
        flat = _scaled(flat, 0.75)


def _on_white(image: Image.Image) -> Image.Image:
    if image.mode != "RGBA":
        return image
    white = Image.new("RGB", image.size, "white")
    white.paste(image, mask=image.getchannel("A"))
    return white


def _saved(image: Image.Image, kind: str, **how: int) -> bytes:
    into = io.BytesIO()
    image.save(into, kind, **how)
    return into.getvalue()
