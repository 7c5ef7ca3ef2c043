"""A tiny picture, and where each protocol wants one in a request: to find out whether a model takes
pictures (PRV-12). What a session attaches is none of this file's.
"""

import base64
import struct
import zlib
from dataclasses import replace

from nodwyn_tui.domain.parts import Text
from nodwyn_tui.domain.request import Json, Request, UserRow
from nodwyn_tui.providers.base import WireRequest
from nodwyn_tui.providers.body import WireMessage

SIDE = 32
"""Pixels: some models refuse smaller ones."""

COLOUR, _RGB = "red", (0xE0, 0x10, 0x10)

QUESTION = Request(
    system="", tools=(), max_output=0, messages=(UserRow((Text("Which colour is it? One word."),)),)
)


def question(max_output: int) -> Request:
    """What goes with the picture."""
    return replace(QUESTION, max_output=max_output)


def png() -> bytes:
    """The picture, of one colour."""
    rows = (b"\0" + bytes(_RGB) * SIDE) * SIDE
    head = struct.pack(">IIBBBBB", SIDE, SIDE, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*chunk) for chunk in chunks)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def with_picture(wire: WireRequest, provider: str) -> WireRequest:
    """The request with the picture in its last message, before what that says."""
    name = "input" if provider == "responses" else "messages"
    *before, last = wire.body[name]
    shown = WireMessage(_shown(last, base64.b64encode(png()).decode("ascii"), provider))
    return replace(wire, body={**wire.body, name: [*before, shown]})


def _shown(message: WireMessage, data: str, provider: str) -> dict[str, Json]:
    if provider == "ollama":
        return {**message, "images": [data]}
    content = message["content"]
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return {**message, "content": [_part(data, provider), *parts]}


def _part(data: str, provider: str) -> dict[str, Json]:
    url = f"data:image/png;base64,{data}"
    match provider:
        case "anthropic":
            source = {"type": "base64", "media_type": "image/png", "data": data}
            return {"type": "image", "source": source}
        case "responses":
            return {"type": "input_image", "detail": "high", "image_url": url}
        case _:
            return {"type": "image_url", "image_url": {"url": url}}
