"""What a provider is: a pure dialect that encodes a request and decodes a reply. No HTTP here."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from nodwyn_tui.domain.deltas import Delta, Reply
from nodwyn_tui.domain.events import ModelRef, Parameters
from nodwyn_tui.domain.request import Json, Request
from nodwyn_tui.errors import ProviderError
from nodwyn_tui.providers.body import body_bytes
from nodwyn_tui.providers.images import Pixels, no_pixels

Framing = Literal["sse", "ndjson"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """Seconds: to connect, to the first byte, between two bytes (PRV-13)."""

    connect: float = 10.0
    first: float = 600.0
    idle: float = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where requests go: everything the HTTP client needs besides the body.

    `secret` is the key itself ('' where none is needed); `repr` never shows it. `scopes` are what
    a signed-in person's token was granted; an API key has none. `api_version` is the protocol's
    version for protocols that have one, '' for the usual one.
    """

    server: str
    provider: str
    base_url: str
    secret: str = field(default="", repr=False)
    scopes: tuple[str, ...] = ()
    auth: Literal["bearer", "x-api-key"] = "bearer"
    api_version: str = ""
    ca_file: str = ""
    insecure: bool = False
    timeouts: Timeouts = Timeouts()


class Keys(Protocol):
    """A key that does not stand still, as a signed-in person's token. Raises `ProviderError`."""

    async def key(self) -> str:
        """The one to send now."""
        ...

    async def another(self, refused: str) -> str:
        """The one in place of what the server refused; '' if there is none."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class WireRequest:
    """What goes over the wire: a path below the base URL, the JSON body, headers besides the
    credential's. `without` tells the person what of their settings it had to do without.
    """

    path: str
    body: Mapping[str, Json]
    headers: Mapping[str, str] = field(default_factory=dict)
    without: str = ""

    def content(self) -> bytes:
        """The body's bytes: keys in the body's own order, no spaces, UTF-8."""
        return body_bytes(self.body)


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame of a stream: an SSE event or an NDJSON line. `event` is the SSE event's name;
    `comment` marks a frame that only says that the server lives.
    """

    data: str
    event: str = ""
    comment: bool = False


class Decoder(Protocol):
    """Frames of one reply to deltas, then the whole reply.

    `done` says that the terminal event came, so that nothing more needs to be read. `feed` and
    `finish` raise `ProviderError`: `feed` for an error inside the stream, `finish` with kind
    `incomplete_stream` where the stream ended without its terminal event. `partial` is the text
    so far, for the screen when that happens; `interrupted` what an interruption keeps.
    """

    @property
    def done(self) -> bool: ...

    def feed(self, frame: Frame) -> Sequence[Delta]: ...

    def finish(self) -> Reply: ...

    def partial(self) -> str: ...

    def interrupted(self) -> Reply: ...


class Dialect(Protocol):
    """A wire protocol. Pure: the same arguments give the same bytes. `pixels` gives an image's file
    by its digest, and is asked for those of the request alone.

    `remedy` names the setting that a refused request points at, '' where it points at none.
    """

    name: str
    framing: Framing

    def encode(
        self,
        request: Request,
        model: ModelRef,
        parameters: Parameters,
        pixels: Pixels = no_pixels,
    ) -> WireRequest: ...

    def decoder(self, model: ModelRef) -> Decoder: ...

    def remedy(self, error: ProviderError, wire: WireRequest) -> str: ...
