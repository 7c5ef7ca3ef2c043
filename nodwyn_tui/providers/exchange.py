"""One request on its way: bytes to frames to deltas, with patience, and what remains of it."""

import asyncio
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from types import TracebackType
from typing import Self

from nodwyn_tui.domain.deltas import Delta, Reply
from nodwyn_tui.errors import ProviderError
from nodwyn_tui.providers.base import Decoder, Dialect, Frame, WireRequest
from nodwyn_tui.providers.client import Answer, Client
from nodwyn_tui.providers.failures import incomplete, page_title
from nodwyn_tui.providers.framing import frame_decoder
from nodwyn_tui.providers.pace import Pace

REPLY_LIMIT = 256 * 1024 * 1024
ERROR_LIMIT = 64 * 1024
"""Bytes that a reply's stream may have, and that are read of an error's body."""

_ERROR_BODY_S = 5.0
_DRAIN_S = 0.25
_BLANK = b"\xef\xbb\xbf \t\r\n"
"""What may stand before a body's first word, a byte-order mark among it."""
_HEADERS = {"Content-Type": "application/json"}


class Exchange:
    """`async with` sends the request, `async for` gives its deltas, then `reply` is whole.

    Leaving the block closes the connection at once, so that the server stops too. Entering and
    iterating raise `ProviderError`; `partial` and `interrupted` hold what had come.
    """

    def __init__(
        self, client: Client, wire: WireRequest, dialect: Dialect, decoder: Decoder
    ) -> None:
        self._client, self._wire, self._dialect, self._decoder = client, wire, dialect, decoder
        self._frames = frame_decoder(dialect.framing)
        self._pace = Pace(client.endpoint.timeouts)
        self._answer: Answer | None = None
        self._ready: deque[Delta] = deque()
        self._failed: ProviderError | None = None
        self._reply: Reply | None = None
        self._is_whole: bool | None = None
        self._whole = bytearray()
        self._size = 0

    @property
    def without(self) -> str:
        """What of the person's settings the request had to do without, '' for nothing."""
        return self._wire.without

    @property
    def reply(self) -> Reply:
        """The whole reply; `RuntimeError` before the deltas have ended."""
        if self._reply is None:
            raise RuntimeError("the reply has not ended")
        return self._reply

    def partial(self) -> str:
        """The text that had come, for the screen."""
        return self._decoder.partial()

    def interrupted(self) -> Reply:
        """What an interruption keeps of the reply (AGT-3)."""
        return self._decoder.interrupted()

    async def __aenter__(self) -> Self:
        sent = False
        try:
            await self._send()
            sent = True
        except ProviderError as error:
            raise self._final(error) from None
        finally:
            if not sent:
                await self._close()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._reply is not None:
            await self._drain()
        await self._close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Delta:
        while not self._ready:
            if self._failed is not None:
                raise self._final(self._failed)
            if self._reply is not None:
                raise StopAsyncIteration
            await self._advance()
        return self._ready.popleft()

    async def _send(self) -> None:
        url = self._client.address(self._wire.path)
        headers = {**_HEADERS, **self._wire.headers}
        self._pace.start(_now())
        try:
            async with asyncio.timeout_at(self._pace.deadline()):
                self._answer = await self._client.send("POST", url, self._wire.content(), headers)
        except TimeoutError:
            raise self._pace.error() from None
        if self._answer.status != 200 or page_title(self._answer.content_type, ""):
            raise await self._refusal(self._answer)

    async def _refusal(self, answer: Answer) -> ProviderError:
        body = b""
        with suppress(TimeoutError, ProviderError):
            async with asyncio.timeout(_ERROR_BODY_S):
                body = await answer.read_up_to(ERROR_LIMIT)
        return self._client.refusal(answer, body)

    async def _advance(self) -> None:
        """Reads once: more deltas are ready afterwards, or the stream has ended or failed."""
        try:
            data = await self._read()
            if data is None:
                self._end(None)
            else:
                self._take(self._cut(data))
        except ProviderError as error:
            self._end(error)

    async def _read(self) -> bytes | None:
        if self._answer is None:
            raise RuntimeError("the request was not sent")
        try:
            async with asyncio.timeout_at(self._pace.deadline()):
                data = await self._answer.read()
        except TimeoutError:
            raise self._pace.error() from None
        except ProviderError as error:
            raise incomplete(error.message) from None
        self._size += len(data or b"")
        if self._size > REPLY_LIMIT:
            raise ProviderError("transport", f"the reply passed {REPLY_LIMIT // 2**20} MiB")
        return data

    def _cut(self, data: bytes) -> list[Frame]:
        """The frames that bytes complete. A server that answers an event stream's request with
        plain JSON sends one frame, its whole body; no line of a stream begins as that does,
        whatever either says of its type.
        """
        if self._is_whole is None and (start := data.lstrip(_BLANK)):
            self._is_whole = self._dialect.framing == "sse" and start[:1] in (b"{", b"[")
        if self._is_whole:
            self._whole += data
            return []
        return self._frames.feed(data)

    def _take(self, frames: Sequence[Frame]) -> None:
        try:
            for frame in frames:
                self._ready.extend(self._decoder.feed(frame))
        except ProviderError as error:
            self._failed = error
            return
        self._pace.heard(_now(), word=any(not frame.comment for frame in frames))
        if self._decoder.done:
            self._end(None)

    def _end(self, cause: ProviderError | None) -> None:
        """The stream is over, by itself or by `cause`: whole if its end had come, else failed."""
        text = self._whole.lstrip(_BLANK).decode("utf-8", "replace")
        whole = [Frame(text)] if text else []
        try:
            for frame in [*whole, *self._frames.finish()]:
                self._ready.extend(self._decoder.feed(frame))
            self._reply = self._decoder.finish()
        except ProviderError as error:
            self._failed = cause or error

    async def _drain(self) -> None:
        """Reads the few bytes after the terminal event, so that the connection serves again."""
        with suppress(TimeoutError, ProviderError):
            async with asyncio.timeout(_DRAIN_S):
                while self._answer is not None and await self._answer.read():
                    pass

    async def _close(self) -> None:
        if self._answer is not None:
            await self._answer.aclose()
            self._answer = None

    def _final(self, error: ProviderError) -> ProviderError:
        return self._client.final(error, self._dialect.remedy(error, self._wire))


def _now() -> float:
    return asyncio.get_running_loop().time()
