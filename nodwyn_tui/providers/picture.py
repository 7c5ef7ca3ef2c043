"""A tiny picture, sent as a session sends images, to learn whether a model takes any (PRV-12)."""

import hashlib
import struct
import zlib
from dataclasses import dataclass
from typing import Self

from nodwyn_tui.domain.parts import Image, Text
from nodwyn_tui.domain.request import Request, UserRow

SIDE = 32
"""Pixels: some models refuse smaller ones."""

MOST_OUTPUT = 1024
"""Tokens: one word, and some thinking before it."""

COLOUR, _RGB = "red", (0xE0, 0x10, 0x10)


@dataclass(frozen=True, slots=True)
class Picture:
    """A PNG of one colour."""

    data: bytes

    @classmethod
    def drawn(cls) -> Self:
        """The picture."""
        rows = (b"\0" + bytes(_RGB) * SIDE) * SIDE
        head = struct.pack(">IIBBBBB", SIDE, SIDE, 8, 2, 0, 0, 0)
        chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b""))
        return cls(b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*chunk) for chunk in chunks))

    def pixels(self, sha256: str) -> bytes:  # noqa: ARG002 - as `Pixels` has it
        """The file of the only image that there is."""
        return self.data

    def question(self, max_output: int) -> Request:
        """The request that shows it and asks for its colour."""
        shown = Image(hashlib.sha256(self.data).hexdigest(), "image/png", SIDE, SIDE)
        ask = UserRow((shown, Text("Which colour is it? Answer with one word.")))
        return Request(system="", tools=(), max_output=max_output, messages=(ask,))


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
