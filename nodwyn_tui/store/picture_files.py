"""A person's image file: read without ever waiting for it, and its kind by its first bytes (C38),
since its name may say anything. Decoding is `pictures.py`'s business.
"""

import os
import stat
from pathlib import Path

from nodwyn_tui.domain.canonical import clean
from nodwyn_tui.errors import UsageError

MOST_BYTES = 100_000_000
"""Of a file that is read."""

READABLE = "PNG, JPEG, WebP, GIF, AVIF, BMP and TIFF"
"""What a person is told to use."""

SUFFIXES = frozenset(
    {".png", ".jpg", ".jpeg", ".jpe", ".webp", ".gif", ".avif", ".bmp", ".tif", ".tiff", ".ico"}
    | {".heic", ".heif", ".jp2", ".qoi"}
)
"""Of names that promise an image."""

HEAD = 1_024
"""Bytes that tell."""

SVG = "an SVG drawing"

_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)

_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF87a", "a GIF image"),
    (b"GIF89a", "a GIF image"),
    (b"II*\0", "a TIFF image"),
    (b"MM\0*", "a TIFF image"),
)
_BRANDS = {b"avif": "an AVIF image", b"avis": "an AVIF image"} | dict.fromkeys(
    (b"heic", b"heix", b"hevc", b"hevx", b"heim", b"heis", b"mif1", b"msf1"), "a HEIC image"
)
_BMP_HEADERS = (12, 40, 52, 56, 64, 108, 124)


def read_file(path: Path) -> bytes:
    """A file's bytes. `UsageError` names the file and what can be done; nothing that stands at
    `path`, a pipe or a device, makes this wait.
    """
    name = clean(path.name)
    try:
        _refuse_odd(path.stat(), name)
        fd = os.open(path, _READ)
        with os.fdopen(fd, "rb") as file:
            about = os.fstat(fd)
            _refuse_odd(about, name)
            return file.read(about.st_size)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise UsageError(f"{name} cannot be read: {why}") from error


def promises_image(path: Path) -> bool:
    """Whether a regular file is there whose name or first bytes promise an image; no drawing in
    SVG, which is text.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            return False
        if path.suffix.lower() in SUFFIXES:
            return True
        with os.fdopen(os.open(path, _READ), "rb") as file:
            return kind_of(file.read(HEAD)) not in {"", SVG}
    except (OSError, ValueError):
        return False


def _refuse_odd(about: os.stat_result, name: str) -> None:
    if stat.S_ISDIR(about.st_mode):
        raise UsageError(f"{name} is a folder: name an image file in it")
    if not stat.S_ISREG(about.st_mode):
        raise UsageError(f"{name} is no regular file: name an image file")
    if about.st_size > MOST_BYTES:
        raise UsageError(
            f"{name} has {about.st_size / 1e6:,.0f} MB, where {MOST_BYTES / 1e6:.0f} are read at"
            " most: make it smaller first"
        )


def kind_of(head: bytes) -> str:
    """In words, by the first bytes; '' for what is no known image."""
    for magic, kind in _MAGIC:
        if head.startswith(magic):
            return kind
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "a WebP image"
    if head[4:8] == b"ftyp":
        return _BRANDS.get(head[8:12], "")
    if head[:2] == b"BM" and int.from_bytes(head[14:18], "little") in _BMP_HEADERS:
        return "a BMP image"
    return SVG if _is_svg(head[:HEAD]) else ""


def _is_svg(head: bytes) -> bool:
    return head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<") and b"<svg" in head.lower()
