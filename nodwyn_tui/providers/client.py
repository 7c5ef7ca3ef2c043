"""The only file that speaks HTTP: one server's connections, and answers read piece by piece.

What a protocol means belongs to its dialect, what a refusal means to `failures.py`.
"""

import asyncio
import json
import socket
import ssl
from collections.abc import Callable, Mapping

import httpx

from nodwyn_tui import __version__
from nodwyn_tui.config.environment import Proxies
from nodwyn_tui.domain.request import Json
from nodwyn_tui.errors import ProviderError
from nodwyn_tui.providers import routes
from nodwyn_tui.providers.base import Endpoint, Keys
from nodwyn_tui.providers.failures import at_server, from_response, one_line, reason
from nodwyn_tui.system.clock import Clock

LISTING_TIMEOUT_S = 10.0
LISTING_LIMIT = 32 * 1024 * 1024
"""Bytes that a listing may have; OpenRouter's has about one million."""

NO_KEY = (
    "It wants a key: `nodwyn auth set {server}` keeps one, or say where one is, as in"
    ' credential = "env:NAME", in the server\'s entry'
)

_SHORTEST_SECRET = 4
"""A shorter key would be found in ordinary words."""

_STALE_WITHIN_S = 2.0
"""A connection that was closed while idle fails at once; what fails later had been asked."""

_HTTP_ERRORS = (httpx.HTTPError, httpx.InvalidURL, UnicodeError)
"""`UnicodeError`: a host that no name can have (IDNA)."""


class Answer:
    """A response whose head has come: `read` gives its body piece by piece, `None` at the end."""

    def __init__(
        self, response: httpx.Response, broken: Callable[[Exception], ProviderError]
    ) -> None:
        self._response, self._broken = response, broken
        self._pieces = response.aiter_bytes()
        self.status = response.status_code
        self.address = routes.shown(str(response.url))
        self.headers: Mapping[str, str] = {k.lower(): v for k, v in response.headers.items()}

    @property
    def content_type(self) -> str:
        """Without its parameters, in lower case."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    async def read(self) -> bytes | None:
        """The next bytes. Raises `ProviderError` where the connection broke."""
        try:
            return await anext(self._pieces, None)
        except _HTTP_ERRORS as error:
            raise self._broken(error) from None

    async def read_up_to(self, limit: int) -> bytes:
        """The body, or its first `limit` bytes; what had come where the connection broke."""
        data = bytearray()
        while len(data) < limit and (piece := await self.read()):
            data += piece
        return bytes(data[:limit])

    async def aclose(self) -> None:
        """Ends the response; a body not read to its end takes the connection with it."""
        await self._response.aclose()


class _Attempt:
    """One sending of a request, which knows whether it went over a connection kept from before.

    A server may close such a connection at the very moment it is used again; then nothing was
    asked yet, and the request goes over a new one.
    """

    def __init__(self, patience_s: float, ready: str) -> None:
        """`ready` is the event with which a proxy has made the way through, '' where there is none
        to wait for; a proxy that accepts and says nothing would be waited for without end.
        """
        self._is_new_connection = False
        self._began = 0.0
        self._patience_s, self._ready = patience_s, ready
        self._patience = asyncio.timeout(None)

    async def send(self, http: httpx.AsyncClient, request: httpx.Request) -> httpx.Response:
        self._began = _now()
        request.extensions["trace"] = self._trace
        try:
            async with self._patience:
                return await http.send(request, stream=True)
        except TimeoutError:
            raise httpx.ConnectTimeout("the proxy said nothing") from None

    def met_a_closed_connection(self) -> bool:
        return not self._is_new_connection and _now() - self._began < _STALE_WITHIN_S

    async def _trace(self, name: str, info: Mapping[str, object]) -> None:  # noqa: ARG002 - httpx's
        if name.endswith("connect_tcp.started"):
            self._is_new_connection = True
            if self._ready:
                self._patience.reschedule(_now() + self._patience_s)
        elif name == self._ready:
            self._patience.reschedule(None)


class _FixedKey:
    """The key of an endpoint, which is the only one."""

    def __init__(self, secret: str) -> None:
        self._secret = secret

    async def key(self) -> str:
        return self._secret

    async def another(self, refused: str) -> str:  # noqa: ARG002 - as `Keys` has it
        return ""


class Client:
    """One server. Connections are made when first needed, never through a proxy for loopback, and
    no redirect is followed: a key goes to the host it was saved for, or nowhere (PRV-13).

    `keys` give the key where it is not the endpoint's fixed one. `redact` takes known secrets out
    of a text; what was sent as a key is always taken out. `headers` go with every request. Every
    error that leaves here or `final` is a `ProviderError`.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        clock: Clock,
        proxies: Proxies | None = None,
        redact: Callable[[str], str] = str,
        headers: Mapping[str, str] | None = None,
        keys: Keys | None = None,
    ) -> None:
        self.endpoint = endpoint
        self._keys = keys or _FixedKey(endpoint.secret)
        self._secrets = {endpoint.secret.strip()}
        self._clock, self._redact_others = clock, redact
        self._standing = headers or {}
        self._base = endpoint.base_url.strip().rstrip("/")
        self._shown = routes.shown(self._base)
        self._proxy = routes.proxy_for(self._base, proxies or Proxies())
        self._proxy_ready = routes.proxy_ready(self._base, self._proxy)
        self._http: httpx.AsyncClient | None = None

    async def send(
        self, method: str, url: str, content: bytes | None, headers: Mapping[str, str]
    ) -> Answer:
        """Sends a request and waits for the head of its answer. A key that is refused gives way to
        the next one, once, if there is one.
        """
        key = await self._keys.key()
        answer = await self._sent(method, url, content, {**self._headers(key), **headers})
        if answer.status != httpx.codes.UNAUTHORIZED:
            return answer
        try:
            another = await self._keys.another(key)
        except ProviderError:
            await answer.aclose()
            raise
        if not another:
            return answer
        await answer.aclose()
        return await self._sent(method, url, content, {**self._headers(another), **headers})

    async def _sent(
        self, method: str, url: str, content: bytes | None, headers: Mapping[str, str]
    ) -> Answer:
        http, patience_s = await self._connections(), self.endpoint.timeouts.connect
        first, second = (_Attempt(patience_s, self._proxy_ready) for _ in range(2))
        try:
            request = http.build_request(method, url, content=content, headers=headers)
            try:
                response = await first.send(http, request)
            except (httpx.ReadError, httpx.WriteError, httpx.RemoteProtocolError):
                if not first.met_a_closed_connection():
                    raise
                response = await second.send(http, request)
        except _HTTP_ERRORS as error:
            raise self._broken(error) from None
        return Answer(response, self._broken)

    async def get_json(self, path: str, *, from_root: bool = False) -> Json:
        """What a listing says. `from_root`: the path stands beside the base URL's `/v1`."""
        return await self._listing("GET", self.address(path, from_root=from_root), None)

    async def post_json(self, path: str, body: Json) -> Json:
        """What a listing that is asked with a body says."""
        return await self._listing("POST", self.address(path), body)

    async def aclose(self) -> None:
        """Closes the connections."""
        if self._http is not None:
            await self._http.aclose()
            self._http = None

    def address(self, path: str, *, from_root: bool = False) -> str:
        """The URL of a path. One that begins with `/v1` itself stands beside the base URL's."""
        beside = from_root or path.startswith("/v1/")
        return (self._base.removesuffix("/v1") if beside else self._base) + path

    def refusal(self, answer: Answer, body: bytes) -> ProviderError:
        """The error that an answer is."""
        error = from_response(
            answer.status, answer.headers, body, address=answer.address, now=self._clock.now()
        )
        if self._proxy and answer.status in {407, 502, 503, 504}:
            error.message += self._through()
        return error

    def final(self, error: ProviderError, remedy: str = "") -> ProviderError:
        """An error as it is shown: where it happened, without secrets, with its remedy."""
        if error.kind == "authentication" and self._secrets == {""} and not error.remedy:
            remedy = remedy or NO_KEY.format(server=self.endpoint.server)
        return at_server(error, server=self.endpoint.server, remedy=remedy, redact=self._redact)

    async def _listing(self, method: str, url: str, body: Json) -> Json:
        content = None if body is None else json.dumps(body, ensure_ascii=False).encode()
        try:
            async with asyncio.timeout(LISTING_TIMEOUT_S):
                answer = await self.send(method, url, content, {"Content-Type": "application/json"})
                try:
                    data = await answer.read_up_to(LISTING_LIMIT)
                finally:
                    await answer.aclose()
        except TimeoutError:
            words = f"{routes.shown(url)} did not answer within {LISTING_TIMEOUT_S:g} s"
            raise self.final(ProviderError("timeout", words)) from None
        except ProviderError as error:
            raise self.final(error) from None
        if answer.status == httpx.codes.OK:
            try:
                return json.loads(data)
            except (ValueError, RecursionError):
                pass
        raise self.final(self.refusal(answer, data))

    def _broken(self, error: Exception) -> ProviderError:
        """A failure below HTTP, in words that say which side it is on."""
        words, where = reason(error), f"{self._shown}{self._through()}"
        match error:
            case httpx.ConnectTimeout() | httpx.PoolTimeout():
                seconds = self.endpoint.timeouts.connect
                return ProviderError("timeout", f"no connection to {where} within {seconds:g} s")
            case httpx.TimeoutException():
                return ProviderError("timeout", f"{where} takes no more of the request")
            case httpx.ConnectError() | httpx.ProxyError():
                message, remedy = f"cannot connect to {where}: {words}", self._connect_remedy(words)
                return ProviderError("transport", message, remedy=remedy)
            case _:
                return ProviderError("transport", f"the connection to {where} broke: {words}")

    def _connect_remedy(self, words: str) -> str:
        if "WRONG_VERSION_NUMBER" in words.upper() or "HTTP_REQUEST" in words.upper():
            return "It speaks no TLS there: correct the port, or use http:// in the base_url"
        if "CERTIFICATE" in words.upper():
            return "Name the file with its authority's certificate as the server's ca_file"
        if self._proxy:
            return f"Check the proxy {routes.shown(self._proxy)}, or name the host in NO_PROXY"
        if routes.is_near(routes.host_of(self._base)):
            program = "Ollama" if self.endpoint.provider == "ollama" else "the model server"
            return f"Start {program}, or correct the server's base_url"
        return "Check the network and the server's base_url"

    def _through(self) -> str:
        return f" through the proxy {routes.shown(self._proxy)}" if self._proxy else ""

    def _redact(self, text: str) -> str:
        for secret in self._secrets:
            if len(secret) >= _SHORTEST_SECRET:
                for form in (secret, json.dumps(secret)[1:-1]):
                    text = text.replace(form, "[key]")
        return self._redact_others(text)

    def _headers(self, key: str) -> dict[str, str]:
        headers = {
            "User-Agent": f"nodwyn/{__version__}",
            "Accept-Encoding": "identity",
            **self._standing,
        }
        secret = key.strip()
        if not secret:
            return headers
        self._secrets.add(secret)
        if not (secret.isascii() and secret.isprintable()):
            raise ProviderError("authentication", "the key holds characters that no key can have")
        if self.endpoint.auth == "x-api-key":
            return headers | {"x-api-key": secret}
        return headers | {"Authorization": f"Bearer {secret}"}

    async def _connections(self) -> httpx.AsyncClient:
        if self._http is None:
            await self._refuse_open_http()
            self._http = self._connect_lazily()
        return self._http

    def _connect_lazily(self) -> httpx.AsyncClient:
        timeouts = self.endpoint.timeouts
        trusted = self._trusted() if self._base.startswith("https:") else False
        try:
            return httpx.AsyncClient(
                trust_env=False,
                proxy=self._proxy or None,
                verify=trusted,
                timeout=httpx.Timeout(timeouts.idle, connect=timeouts.connect, read=None),
                follow_redirects=False,
            )
        except (ValueError, httpx.InvalidURL) as error:
            message = f"cannot use the proxy {routes.shown(self._proxy)}: {one_line(str(error))}"
            remedy = "Correct the proxy variables of the environment"
            raise ProviderError("transport", message, remedy=remedy) from None

    def _trusted(self) -> ssl.SSLContext:
        context = httpx.create_ssl_context(trust_env=False)
        context.load_default_certs()
        if self.endpoint.ca_file:
            try:
                context.load_verify_locations(self.endpoint.ca_file)
            except OSError as error:
                message = f"cannot read {self.endpoint.ca_file}: {reason(error)}"
                remedy = "Correct the server's ca_file, or SSL_CERT_FILE if it is from there"
                raise ProviderError("transport", message, remedy=remedy) from None
        return context

    async def _refuse_open_http(self) -> None:
        """Plain HTTP is for this machine and private networks; a name counts by its addresses."""
        scheme, host = self._base.partition("://")[0].lower(), routes.host_of(self._base)
        if scheme not in {"http", "https"} or not host:
            message = f"“{one_line(self._shown)}” is no address of a server"
            remedy = "Set the server's base_url, with http:// or https://"
            raise ProviderError("transport", message, remedy=remedy)
        if scheme == "https" or self.endpoint.insecure or await self._is_near(host):
            return
        message = f"{self._shown} would be asked unencrypted, over a network that is not private"
        remedy = "Use https, or set insecure = true for this server"
        raise ProviderError("transport", message, remedy=remedy)

    async def _is_near(self, host: str) -> bool:
        if routes.parse_address(host) is not None or routes.is_loopback(host):
            return routes.is_near(host)
        try:
            async with asyncio.timeout(self.endpoint.timeouts.connect):
                found = await asyncio.get_running_loop().getaddrinfo(host, None)
        except (socket.gaierror, TimeoutError, UnicodeError):
            # Without a proxy the connection will fail, and say so better than this can.
            return not self._proxy
        return bool(found) and all(routes.is_near(str(place[4][0])) for place in found)


def _now() -> float:
    return asyncio.get_running_loop().time()
