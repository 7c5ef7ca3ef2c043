"""A text file as the tools change it: its bytes, its text without the byte-order mark, and what
must stay as it was (C46, C47).
"""

import codecs
import os
import re
import stat
from dataclasses import dataclass

from nodwyn_tui.domain.canonical import sha256
from nodwyn_tui.errors import StoreError, ToolError
from nodwyn_tui.system.atomic import write_whole
from nodwyn_tui.tools.nofollow import make_folders, opened
from nodwyn_tui.tools.paths import Place

LARGEST = 32 * 1024 * 1024
"""Bytes of a file that is changed; a larger one is the shell's business."""

_KINDS = {
    b"\x89PNG": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"GIF8": "a GIF image",
    b"RIFF": "RIFF data",
    b"%PDF": "a PDF document",
    b"PK\x03\x04": "a zip archive (or an office document)",
    b"\x1f\x8b": "gzip data",
    b"\x7fELF": "an ELF program",
    b"SQLite format 3\0": "a SQLite database",
    codecs.BOM_UTF16_LE: "UTF-16 text (the shell can turn it: iconv -f UTF-16 -t UTF-8)",
    codecs.BOM_UTF16_BE: "UTF-16 text (the shell can turn it: iconv -f UTF-16 -t UTF-8)",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TextFile:
    """`text` has no byte-order mark; a byte that is no UTF-8 stands in it as a surrogate escape, so
    that it goes back as it came. Line ends are the file's own.
    """

    text: str
    mark: bool
    digest: str
    mode: int

    def with_text(self, text: str) -> bytes:
        """The bytes of the file with another text."""
        return (codecs.BOM_UTF8 if self.mark else b"") + text.encode("utf-8", "surrogateescape")


def binary_kind(head: bytes) -> str | None:
    """What a file is that begins with `head`, in words, or `None` for text."""
    for magic, kind in _KINDS.items():
        if head.startswith(magic):
            return kind
    return "binary data" if b"\0" in head else None


def load(place: Place) -> TextFile | None:
    """The text file at `place`, `None` if there is nothing. Raises `ToolError` for a folder, binary
    data, or too large a file.
    """
    if place.path.is_dir():
        raise ToolError(f"{place.shown} is a folder; name a file in it.")
    if not os.path.lexists(place.path):
        return None
    with opened(place) as file:
        found = os.fstat(file.fileno())
        if found.st_size > LARGEST:
            raise ToolError(
                f"{place.shown} has {found.st_size:,} bytes, too many to change here; use the shell"
                " tool (sed, or a script)."
            )
        data = file.read()
    kind = binary_kind(data[:8192])
    if kind:
        raise ToolError(f"{place.shown} is {kind}, not text; use the shell tool for it.")
    mark = data.startswith(codecs.BOM_UTF8)
    return TextFile(
        text=data.removeprefix(codecs.BOM_UTF8).decode("utf-8", "surrogateescape"),
        mark=mark,
        digest=sha256(data),
        mode=stat.S_IMODE(found.st_mode),
    )


def store(place: Place, data: bytes, mode: int | None) -> None:
    """Writes the file whole, its folders too. Raises `ToolError`; then nothing was changed."""
    make_folders(place)
    try:
        write_whole(place.path, data, mode, inside=place.base)
    except StoreError as error:
        raise ToolError(f"{place.shown} was not written: {error}") from error


def lf(text: str) -> str:
    """`text` with each CRLF as one LF."""
    return text.replace("\r\n", "\n")


def main_ending(text: str) -> str:
    """The line end that most lines of `text` have, '' if it has none."""
    crlf = text.count("\r\n")
    bare = text.count("\n") - crlf
    if not crlf and not bare:
        return ""
    return "\r\n" if crlf > bare else "\n"


def with_ending(text: str, ending: str) -> str:
    """`text` with every line end as `ending`."""
    return re.sub(r"\r?\n", ending, text) if ending else text
