"""Bytes of a stream to frames, whatever way the network cut them (PRV-8).

Lines end at LF, CRLF or CR only: other line separators are legal inside JSON.
"""

import json
import re
from typing import Protocol

from nodwyn_tui.errors import ProviderError
from nodwyn_tui.providers.base import Frame, Framing

LONGEST_LINE = 32 * 1024 * 1024
"""Bytes that a line, or the data of one event, may have."""

_LINE_END = re.compile(rb"\r\n|\r|\n")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class FrameDecoder(Protocol):
    """Bytes in, whole frames out. Raises `ProviderError` for a line that never ends."""

    def feed(self, data: bytes) -> list[Frame]: ...

    def finish(self) -> list[Frame]: ...


def frame_decoder(framing: Framing) -> FrameDecoder:
    """A new decoder for a stream of that framing."""
    return SseDecoder() if framing == "sse" else NdjsonDecoder()


class _Lines:
    """Whole lines without their ends. A CR ends its line at once; an LF right after it is its
    second half, also when it comes in the next piece.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._rest = bytearray()
        self._after_cr = False

    def feed(self, data: bytes) -> list[bytes]:
        if self._after_cr and data:
            data = data.removeprefix(b"\n")
            self._after_cr = False
        if not data:
            return []
        self._after_cr = data.endswith(b"\r")
        *whole, rest = _LINE_END.split(data)
        if whole:
            whole[0] = bytes(self._rest) + whole[0]
            self._rest = bytearray(rest)
        else:
            self._rest += rest
        if len(self._rest) > self._limit:
            raise too_long(self._limit)
        return whole

    def rest(self) -> bytes:
        """What follows the last line's end."""
        return bytes(self._rest)


class SseDecoder:
    """Server-sent events by the standard, and the `error:` field that some servers add to it.

    A comment gives a frame of its own. An event without its blank line is given at the end if its
    data is complete.
    """

    def __init__(self, limit: int = LONGEST_LINE) -> None:
        self._limit = limit
        self._lines = _Lines(limit)
        self._first = True
        self._clear()

    def feed(self, data: bytes) -> list[Frame]:
        frames: list[Frame] = []
        for line in self._lines.feed(data):
            self._take(line, frames)
        return frames

    def finish(self) -> list[Frame]:
        """The frames of what was left when the body ended."""
        frames: list[Frame] = []
        if rest := self._lines.rest():
            self._take(rest, frames)
        if (frame := self._event()) and _is_complete(frame.data):
            frames.append(frame)
        return frames

    def _clear(self) -> None:
        self._name = ""
        self._data: list[str] = []
        self._size = 0

    def _event(self) -> Frame | None:
        return Frame("\n".join(self._data), self._name) if self._data else None

    def _take(self, line: bytes, frames: list[Frame]) -> None:
        if self._first:
            line = line.removeprefix(_BYTE_ORDER_MARK)
            self._first = False
        if not line:
            if frame := self._event():
                frames.append(frame)
            self._clear()
            return
        name, _, value = line.decode("utf-8", "replace").partition(":")
        value = value.removeprefix(" ")
        match name:
            case "":
                frames.append(Frame(value, comment=True))
            case "event":
                self._name = value
            case "data":
                self._append(value)
            case "error":
                self._append(value)
                self._name = "error"

    def _append(self, value: str) -> None:
        self._size += len(value) + 1
        if self._size > self._limit:
            raise too_long(self._limit)
        self._data.append(value)


class NdjsonDecoder:
    """One frame a line that is not blank; the last one may lack its end."""

    def __init__(self, limit: int = LONGEST_LINE) -> None:
        self._lines = _Lines(limit)

    def feed(self, data: bytes) -> list[Frame]:
        return [frame for line in self._lines.feed(data) if (frame := _line_frame(line))]

    def finish(self) -> list[Frame]:
        """The line that was left when the body ended, if it is complete."""
        frame = _line_frame(self._lines.rest())
        return [frame] if frame and _is_complete(frame.data) else []


def _line_frame(line: bytes) -> Frame | None:
    text = line.decode("utf-8-sig", "replace").strip()
    return Frame(text) if text else None


def _is_complete(data: str) -> bool:
    if data.strip() == "[DONE]":
        return True
    try:
        json.loads(data)
    except (ValueError, RecursionError):
        return False
    return True


def too_long(limit: int) -> ProviderError:
    """The error for a piece of a stream that outgrows what is held in memory."""
    return ProviderError(
        "transport",
        f"the server sent more than {limit // 1024} KiB without ending a line",
        remedy="Check that the address is a model server's",
    )
