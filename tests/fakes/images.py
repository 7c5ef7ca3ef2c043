"""Images in requests, as real servers look at them: what they refuse, and what they count."""

import base64
import binascii
import hashlib
import re
from collections.abc import Iterator, Mapping
from typing import Any

TOKENS = 1_000
"""What an image counts at every fake."""

LARGEST = 5 * 1024 * 1024
"""Characters of base64."""

_MAGIC = {
    "image/png": b"\x89PNG\r\n\x1a\n",
    "image/jpeg": b"\xff\xd8\xff",
    "image/gif": b"GIF8",
    "image/webp": b"RIFF",
}
_URL = re.compile(r"data:([a-z]+/[a-z+.-]+);base64,(.*)", re.DOTALL)
_LEAST = 60
"""Characters; no image's base64 is shorter."""


def data_problems(data: Any, mime: str = "") -> Iterator[str]:
    """What is wrong with an image's base64, which should be of that type ('' any)."""
    if not isinstance(data, str):
        yield "image: no base64 text"
        return
    try:
        raw = base64.b64decode(data, validate=True)
    except binascii.Error:
        yield "image: Invalid base64-encoded data"
        return
    if len(data) > LARGEST:
        yield f"image exceeds 5 MB maximum: {len(data)} bytes > {LARGEST} bytes"
    kind = next((kind for kind, magic in _MAGIC.items() if raw.startswith(magic)), "")
    if not kind or (mime and kind != mime):
        yield f"image: the bytes are {kind or 'no image'}, where {mime or 'an image'} was said"


def url_problems(url: Any) -> Iterator[str]:
    """The same of a `data:` address, which must name its type."""
    found = _URL.fullmatch(url) if isinstance(url, str) else None
    if found is None:
        yield "image_url: no data: address with base64"
    elif found[1] not in _MAGIC:
        yield f"image_url: unsupported image type {found[1]}"
    else:
        yield from data_problems(found[2], found[1])


def counted(value: Any) -> Any:
    """A request with each image as long as what it counts, and still its own."""
    match value:
        case str() if len(value) >= _LEAST and (data := image_in(value)):
            name = hashlib.sha256(data).hexdigest()
            return (name * (TOKENS * 4 // len(name) + 1))[: TOKENS * 4]
        case Mapping():
            return {name: counted(each) for name, each in value.items()}
        case list() | tuple():
            return [counted(each) for each in value]
        case _:
            return value


def image_in(text: str) -> bytes:
    """The image that a text is in base64, or as a `data:` address; b"" for any other text."""
    found = _URL.fullmatch(text) if text.startswith("data:") else None
    encoded = found[2] if found else text
    if not re.match(r"(iVBORw0|/9j/|R0lGOD|UklGR)", encoded):
        return b""
    try:
        return base64.b64decode(encoded, validate=True)
    except binascii.Error:
        return b""


def images_in(value: Any) -> Iterator[bytes]:
    """All images in a request's body, in order."""
    match value:
        case str():
            if len(value) >= _LEAST and (data := image_in(value)):
                yield data
        case Mapping():
            for each in value.values():
                yield from images_in(each)
        case list():
            for each in value:
                yield from images_in(each)
        case _:
            pass
