"""Has Ollama fetch a model: the lines of its `/api/pull`, added up over the model's layers.

What was fetched stays with Ollama, and the next time goes on from there.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from dataclasses import dataclass, field

from nodwyn_tui.domain.request import Json
from nodwyn_tui.errors import ErrorKind, ProviderError
from nodwyn_tui.providers.client import Answer, Client
from nodwyn_tui.providers.failures import error_in, frame_object
from nodwyn_tui.providers.framing import NdjsonDecoder

IDLE_S = 600.0
"""Ollama says nothing while it verifies a large model."""
_ERROR_BYTES = 64 * 1024
_LONGEST_LINE = 64 * 1024

_MEANT: tuple[tuple[str, ErrorKind, str], ...] = (
    (
        "no space left",
        "server_error",
        "Make room on the disk where Ollama keeps its models, then fetch it again: it goes on from"
        " what is there",
    ),
    ("file does not exist", "not_found", "Check the name: its library is at ollama.com/library"),
    ("not found", "not_found", "Check the name: its library is at ollama.com/library"),
    ("invalid model name", "invalid_request", "A name is like qwen3:8b, without blanks"),
    ("newer version", "invalid_request", "Update Ollama, then fetch it again"),
    ("no such host", "transport", "Ollama cannot reach its library: check its network"),
    ("connection refused", "transport", "Ollama cannot reach its library: check its network"),
    ("timeout", "timeout", "Ollama cannot reach its library: check its network"),
    ("digest mismatch", "server_error", "What came was spoiled on its way: fetch it again"),
)
"""What Ollama's words mean, and what the person can do."""

AGAIN = "Fetch it again: it goes on from what is there"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pulled:
    """How far it is: Ollama's own words, and bytes over all layers that it named so far."""

    status: str
    done_bytes: int = 0
    all_bytes: int = 0
    done: bool = False


@dataclass(slots=True)
class _Layers:
    """The bytes of each layer, by digest: those that are there, and all."""

    sizes: dict[str, tuple[int, int]] = field(default_factory=dict)

    def take(self, line: Mapping[str, Json]) -> Pulled:
        status = str(line.get("status", ""))
        digest, whole = line.get("digest"), _count(line.get("total"))
        if isinstance(digest, str) and whole:
            done = min(_count(line.get("completed")), whole)
            self.sizes[digest] = (max(done, self.sizes.get(digest, (0, 0))[0]), whole)
        return Pulled(
            status=status,
            done_bytes=sum(done for done, _ in self.sizes.values()),
            all_bytes=sum(whole for _, whole in self.sizes.values()),
            done=status == "success",
        )


async def pull(client: Client, model: str) -> AsyncGenerator[Pulled, None]:
    """What Ollama tells until the model is there. Leaving early stops it. Raises `ProviderError`
    for whatever keeps the model from coming.
    """
    content = json.dumps({"model": model, "stream": True}).encode()
    try:
        url = client.address("/api/pull")
        answer = await client.send("POST", url, content, {"Content-Type": "application/json"})
        try:
            if answer.status != 200:
                raise _meant(client.refusal(answer, await answer.read_up_to(_ERROR_BYTES)))
            layers, done = _Layers(), False
            async for data in _lines(answer):
                line = frame_object(data)
                if (error := error_in(line)) is not None:
                    raise _meant(error)
                step = layers.take(line)
                done = done or step.done
                yield step
            if not done:
                raise ProviderError("incomplete_stream", "it broke off", remedy=AGAIN)
        finally:
            await answer.aclose()
    except ProviderError as error:
        raise client.final(error) from None


async def _lines(answer: Answer) -> AsyncIterator[str]:
    frames = NdjsonDecoder(_LONGEST_LINE)
    while data := await _piece(answer):
        for frame in frames.feed(data):
            yield frame.data
    for frame in frames.finish():
        yield frame.data


async def _piece(answer: Answer) -> bytes | None:
    try:
        async with asyncio.timeout(IDLE_S):
            return await answer.read()
    except TimeoutError:
        words = f"nothing came for {IDLE_S:g} s"
        raise ProviderError("timeout", words, remedy=AGAIN) from None
    except ProviderError as error:
        error.remedy = error.remedy or AGAIN
        raise


def _meant(error: ProviderError) -> ProviderError:
    """The error with what its words mean, where they are known."""
    words = error.message.lower()
    for part, kind, remedy in _MEANT:
        if part in words:
            return ProviderError(
                kind, error.message, status=error.status, remedy=remedy, detail=error.detail
            )
    return error


def _count(value: Json) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
