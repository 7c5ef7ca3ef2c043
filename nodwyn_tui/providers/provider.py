"""One server as the turn sees it: its dialect and its connection, and requests over them."""

from collections.abc import Callable

from nodwyn_tui.config.environment import Proxies
from nodwyn_tui.domain.events import ModelRef, Parameters
from nodwyn_tui.domain.request import Request
from nodwyn_tui.providers.base import Dialect, Endpoint, Keys, WireRequest
from nodwyn_tui.providers.catalogue import Catalogue
from nodwyn_tui.providers.client import Client
from nodwyn_tui.providers.exchange import Exchange
from nodwyn_tui.providers.images import Pixels, no_pixels
from nodwyn_tui.providers.registry import dialect, standing_headers
from nodwyn_tui.system.clock import Clock


class Provider:
    """A server, its dialect and its connection.

        async with provider.stream(request, model, parameters) as exchange:
            async for delta in exchange: ...
            reply = exchange.reply

    `encode` is pure: what is sent is `encode(...).content()`, byte for byte.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        clock: Clock,
        proxies: Proxies | None = None,
        redact: Callable[[str], str] = str,
        keys: Keys | None = None,
    ) -> None:
        self.endpoint = endpoint
        self.dialect: Dialect = dialect(endpoint.provider)
        self.client = Client(
            endpoint,
            clock=clock,
            proxies=proxies,
            redact=redact,
            headers=standing_headers(endpoint),
            keys=keys,
        )
        self.catalogue = Catalogue(self.client)

    def encode(
        self,
        request: Request,
        model: ModelRef,
        parameters: Parameters,
        pixels: Pixels = no_pixels,
    ) -> WireRequest:
        """What `stream` would send."""
        return self.dialect.encode(request, model, parameters, pixels)

    def stream(
        self,
        request: Request,
        model: ModelRef,
        parameters: Parameters,
        pixels: Pixels = no_pixels,
    ) -> Exchange:
        """A request that is sent when the exchange is entered; retries are the turn's."""
        wire = self.encode(request, model, parameters, pixels)
        return Exchange(self.client, wire, self.dialect, self.dialect.decoder(model))

    async def aclose(self) -> None:
        """Closes the connections."""
        await self.client.aclose()
