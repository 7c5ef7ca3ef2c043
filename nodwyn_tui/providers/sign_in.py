"""How a person signs in: their browser asks the authorization server, whose answer comes back to a
port of this machine (RFC 8252), with a proof that only this process holds (PKCE, S256).

Tokens are `oauth.py`'s.
"""

import asyncio
import base64
import hashlib
import hmac
import secrets
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Self
from urllib.parse import parse_qs, urlencode, urlsplit

from nodwyn_tui.errors import ProviderError
from nodwyn_tui.providers.failures import one_line
from nodwyn_tui.providers.oauth import Grant, Tokens
from nodwyn_tui.system.clock import Clock

PATIENCE_S = 300.0
"""How long the person has in the browser."""

_HEAD_LIMIT = 16 * 1024
_HEAD_S = 10.0
_SHOWN = 200

_PAGE = """\
<!doctype html><meta charset="utf-8"><title>Nodwyn</title>
<p style="font-family: sans-serif; margin: 4em">{words}</p>
"""
_DONE = "You can close this page and go back to the terminal."
_FAILED = "The sign-in was refused. The terminal says more; you can close this page."
_STRAY = "This page belongs to no sign-in that goes on."


async def sign_in(
    grant: Grant,
    authorize_url: str,
    redirect_uri: str,
    clock: Clock,
    show: Callable[[str], None],
) -> Tokens:
    """Has the person sign in, and gives what they granted. `show` is handed the address that their
    browser is to open. Raises `ProviderError` where they refuse, or where nothing comes back.
    """
    state, verifier = secrets.token_urlsafe(32), secrets.token_urlsafe(64)
    async with _Listener(redirect_uri, state) as listener:
        asked = {
            "response_type": "code",
            "client_id": grant.client_id,
            "redirect_uri": listener.redirect_uri,
            "scope": " ".join(grant.scopes),
            "state": state,
            "code_challenge": challenge(verifier),
            "code_challenge_method": "S256",
        }
        joint = "&" if "?" in authorize_url else "?"
        show(authorize_url + joint + urlencode({k: v for k, v in asked.items() if v}))
        try:
            async with asyncio.timeout(PATIENCE_S):
                code = await listener.code
        except TimeoutError:
            words = f"nobody signed in within {PATIENCE_S / 60:.0f} minutes"
            raise ProviderError("timeout", words, server=grant.server) from None
    return await grant.exchange(clock, code, verifier, listener.redirect_uri)


def challenge(verifier: str) -> str:
    """What the authorization server is told of the proof (RFC 7636, S256)."""
    digest = hashlib.sha256(verifier.encode("ascii")).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode("ascii")


class _Listener:
    """Waits on the loopback for the one answer that bears the sign-in's state. Whatever else comes
    in, from whomever, is turned away and changes nothing.
    """

    def __init__(self, redirect_uri: str, state: str) -> None:
        self._wanted, self._state = urlsplit(redirect_uri), state
        self._server: asyncio.Server | None = None
        self.redirect_uri = redirect_uri
        self.code: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def __aenter__(self) -> Self:
        host, port = self._wanted.hostname or "127.0.0.1", self._wanted.port or 0
        bound = "127.0.0.1" if host == "localhost" else host
        try:
            self._server = await asyncio.start_server(self._serve, bound, port, limit=_HEAD_LIMIT)
        except OSError as error:
            raise ProviderError(
                "transport",
                f"port {port} of this machine cannot be listened on: {error.strerror or error}",
                remedy="End what holds it, or name another port in the entry's redirect_uri",
            ) from error
        port = self._server.sockets[0].getsockname()[1]
        shown = f"[{host}]" if ":" in host else host
        self.redirect_uri = self._wanted._replace(netloc=f"{shown}:{port}").geturl()
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.close()  # a browser may hold a connection open: it is not waited for
        self.code.cancel()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(
            OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError
        ):
            async with asyncio.timeout(_HEAD_S):
                head = await reader.readuntil(b"\r\n\r\n")
                status, words = self._taken(head.split(b"\r\n", 1)[0].decode("latin-1"))
                writer.write(_answer(status, words))
                await writer.drain()
        writer.close()

    def _taken(self, line: str) -> tuple[str, str]:
        """The status and the words of the answer to a request; its code, if it bears the state."""
        method, _, rest = line.partition(" ")
        target = urlsplit(rest.partition(" ")[0])
        given = {name: values[-1] for name, values in parse_qs(target.query).items()}
        if method != "GET" or target.path != (self._wanted.path or "/"):
            return "404 Not Found", _STRAY
        if not hmac.compare_digest(given.get("state", "").encode(), self._state.encode()):
            return "400 Bad Request", _STRAY
        if self.code.done():
            return "400 Bad Request", _STRAY
        if code := given.get("code"):
            self.code.set_result(code)
            return "200 OK", _DONE
        self.code.set_exception(_refused(given))
        return "200 OK", _FAILED


def _refused(given: Mapping[str, str]) -> ProviderError:
    words = ": ".join(filter(None, (given.get("error"), given.get("error_description"))))
    words = one_line(words)[:_SHOWN] or "no code came back"
    return ProviderError("authentication", f"the sign-in was refused: {words}", remedy="Try again")


def _answer(status: str, words: str) -> bytes:
    page = _PAGE.format(words=words).encode()
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\n"
        f"Content-Length: {len(page)}\r\nCache-Control: no-store\r\n"
        "Referrer-Policy: no-referrer\r\nConnection: close\r\n\r\n"
    )
    return head.encode("ascii") + page
