"""A signed-in person's tokens: what is kept of them, and how they are renewed (PRV-4).

How a person signs in is `sign_in.py`'s. No token is shown, logged or handed on but to the server
that it was granted for and to the one that renews it.
"""

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Annotated, Literal
from urllib.parse import quote, urlencode

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from nodwyn_tui.config.keychain import Keychain
from nodwyn_tui.domain.request import Json
from nodwyn_tui.errors import ConfigError, ProviderError
from nodwyn_tui.providers.client import Client
from nodwyn_tui.providers.failures import one_line
from nodwyn_tui.system.clock import Clock

MARGIN = timedelta(seconds=60)
"""How long before its end a token is renewed: a request must not outlive it on its way."""

ANSWER_LIMIT = 256 * 1024
TIMEOUT_S = 30.0
_SHOWN = 300
"""Characters of a refusal's own words that are shown."""

_FORM = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}


_Token = Annotated[str, Field(pattern=r"^[!-~]+$", max_length=32_768)]


class _Response(BaseModel):
    """A token response (RFC 6749, 5.1)."""

    model_config = ConfigDict(extra="allow")

    access_token: _Token
    token_type: str = "Bearer"
    expires_in: Annotated[float, Field(gt=0, le=10**9)] | None = None
    refresh_token: _Token | None = None
    scope: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """What a sign-in granted. `access` is for the server at `origin` alone, `refresh` ('' for none)
    for `token_url` alone; `expires` is `None` where nobody said; `response` is what the latest
    answer held, whole. `repr` shows no token.
    """

    access: str = field(repr=False)
    refresh: str = field(default="", repr=False)
    scopes: tuple[str, ...] = ()
    expires: datetime | None = None
    origin: str
    token_url: str
    response: Mapping[str, Json] = field(default_factory=dict, repr=False)

    @property
    def secrets(self) -> tuple[str, ...]:
        """Every text in them that nobody may see, an id token too."""
        others = (
            value
            for name, value in self.response.items()
            if isinstance(value, str) and name.endswith("token")
        )
        return tuple(dict.fromkeys(text for text in (self.access, self.refresh, *others) if text))

    def ends_before(self, now: datetime) -> bool:
        """Whether it is known to have ended by then."""
        return self.expires is not None and self.expires <= now


class _Kept(BaseModel):
    """What is put into the keyring: the latest response, whole, and what it was granted for."""

    version: Literal[1] = 1
    origin: str
    token_url: str
    scopes: tuple[str, ...]
    expires: AwareDatetime | None
    refresh_token: str
    response: dict[str, Json]


def kept(tokens: Tokens) -> str:
    """As text, for a keychain."""
    return _Kept(
        origin=tokens.origin,
        token_url=tokens.token_url,
        scopes=tokens.scopes,
        expires=tokens.expires,
        refresh_token=tokens.refresh,
        response=dict(tokens.response),
    ).model_dump_json()


def tokens_of(text: str) -> Tokens | None:
    """What was kept; `None` for anything else, and for nothing."""
    try:
        found = _Kept.model_validate_json(text)
        access = _Response.model_validate(found.response).access_token
    except ValidationError:
        return None
    return Tokens(
        access=access,
        refresh=found.refresh_token,
        scopes=found.scopes,
        expires=found.expires,
        origin=found.origin,
        token_url=found.token_url,
        response=found.response,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """What tokens are asked for: who asks (`client_id`), what for (`scopes` at `origin`), and where
    (`token_url`). `client` makes a connection to there.
    """

    server: str
    origin: str
    token_url: str
    client_id: str
    scopes: tuple[str, ...]
    client: Callable[[], Client]

    @property
    def remedy(self) -> str:
        """What the person does where no token can be had."""
        return f"`nodwyn auth set {self.server} --sign-in`"

    async def exchange(self, clock: Clock, code: str, verifier: str, redirect_uri: str) -> Tokens:
        """The tokens for a sign-in's code. Raises `ProviderError`."""
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "code_verifier": verifier,
            "redirect_uri": redirect_uri,
        }
        response = await self._ask(form)
        return self._tokens(response, clock.now(), response.refresh_token or "", self.scopes)

    async def renew(self, clock: Clock, tokens: Tokens) -> Tokens:
        """The next ones. What the answer leaves out stays as it was. Raises `ProviderError`."""
        form = {"grant_type": "refresh_token", "refresh_token": tokens.refresh}
        response = await self._ask(form)
        refresh = response.refresh_token or tokens.refresh
        return self._tokens(response, clock.now(), refresh, tokens.scopes)

    def _tokens(
        self, response: "_Response", now: datetime, refresh: str, scopes: tuple[str, ...]
    ) -> Tokens:
        seconds = response.expires_in
        return Tokens(
            access=response.access_token,
            refresh=refresh,
            scopes=scopes if response.scope is None else tuple(response.scope.split()),
            expires=None if seconds is None else now + timedelta(seconds=seconds),
            origin=self.origin,
            token_url=self.token_url,
            response=response.model_dump(exclude_unset=True),
        )

    async def _ask(self, form: Mapping[str, str]) -> "_Response":
        """The answer to a form. Whatever it says of an error, none of the form's secrets is
        shown.
        """
        client = self.client()
        try:
            return await self._answered(client, {**form, "client_id": self.client_id})
        except ProviderError as error:
            remedy = "" if error.kind != "authentication" else f"Sign in anew: {self.remedy}"
            raise client.final(error, remedy) from None
        finally:
            await client.aclose()

    async def _answered(self, client: Client, form: Mapping[str, str]) -> "_Response":
        try:
            async with asyncio.timeout(TIMEOUT_S):
                answer = await client.send("POST", self.token_url, urlencode(form).encode(), _FORM)
                try:
                    body = await answer.read_up_to(ANSWER_LIMIT)
                finally:
                    await answer.aclose()
        except TimeoutError:
            words = f"{self.token_url} did not answer within {TIMEOUT_S:g} s"
            raise ProviderError("timeout", words) from None
        value = _object(body)
        if answer.status == 200:
            return _read_response(value)
        if isinstance(error := value.get("error"), str) and answer.status < 500:
            words = _refusal(error, value.get("error_description"), form)
            raise ProviderError("authentication", words, status=answer.status)
        raise client.refusal(answer, b"")


def _read_response(value: Mapping[str, Json]) -> "_Response":
    try:
        response = _Response.model_validate(value)
    except ValidationError:
        # Its words would show what stood there.
        words = "the answer to the sign-in holds no token that can be used"
        raise ProviderError("server_error", words) from None
    if response.token_type.lower() != "bearer":
        raise ProviderError("server_error", "the token is of a kind that is not known here")
    return response


def _object(body: bytes) -> Mapping[str, Json]:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, Mapping) else {}


def _refusal(error: str, description: Json, form: Mapping[str, str]) -> str:
    words = f"{error}: {description}" if isinstance(description, str) else error
    for name in ("code", "code_verifier", "refresh_token"):
        for secret in (form.get(name, ""), quote(form.get(name, ""), safe="")):
            words = words.replace(secret, "[key]") if secret else words
    return one_line(words)[:_SHOWN]


class SignedIn:
    """The tokens of one server, kept at `place` in the keychain and renewed in time. `hold` is told
    every token before it is used.

    Processes that share them never spend a refresh token twice: whoever comes second finds what
    the first one got.
    """

    def __init__(
        self,
        grant: Grant,
        keychain: Keychain,
        place: str,
        clock: Clock,
        hold: Callable[..., None],
    ) -> None:
        self._grant, self._keychain, self._place = grant, keychain, place
        self._clock, self._hold = clock, hold
        self._tokens: Tokens | None = None
        self._renewing: asyncio.Task[Tokens] | None = None

    async def tokens(self) -> Tokens:
        """What is held. `ConfigError` where nobody has signed in, or for another server."""
        return self._tokens or await self._read()

    async def key(self) -> str:
        """The token to send, renewed if it is about to end. Raises `ProviderError`."""
        tokens = await self._held()
        now = self._clock.now()
        if not tokens.refresh or not tokens.ends_before(now + MARGIN):
            return tokens.access
        try:
            return (await self._renewed(tokens)).access
        except ProviderError as error:
            if error.kind == "authentication" or tokens.ends_before(now):
                raise
            return tokens.access  # it holds for a moment yet, and the next request tries again

    async def another(self, refused: str) -> str:
        """The token in place of one that the server refused; '' if there is none. Raises
        `ProviderError`.
        """
        tokens = await self._held()
        if tokens.access != refused:
            return tokens.access
        return (await self._renewed(tokens)).access if tokens.refresh else ""

    async def _held(self) -> Tokens:
        try:
            return await self.tokens()
        except ConfigError as error:
            raise ProviderError("authentication", str(error)) from error

    async def _renewed(self, spent: Tokens) -> Tokens:
        """Once for all that ask at the same time, and carried through if they are interrupted: a
        refresh token that was sent is spent, and its successor must not be lost.
        """
        if self._renewing is None or self._renewing.done():
            self._renewing = asyncio.create_task(self._renew(spent))
        return await asyncio.shield(self._renewing)

    async def _renew(self, spent: Tokens) -> Tokens:
        try:
            async with self._keychain.alone(self._place):
                latest = await self._read()
                if latest.access != spent.access and not latest.ends_before(self._clock.now()):
                    return latest
                renewed = await self._grant.renew(self._clock, latest)
                self._take(renewed)
                await asyncio.to_thread(self._keychain.keep, self._place, kept(renewed))
                return renewed
        except ConfigError as error:
            raise ProviderError("authentication", str(error)) from error

    async def _read(self) -> Tokens:
        tokens = tokens_of(await asyncio.to_thread(self._keychain.read, self._place))
        grant = self._grant
        if tokens is None:
            raise ConfigError(f"nobody is signed in to {grant.server!r}: {grant.remedy}")
        if (tokens.origin, tokens.token_url) != (grant.origin, grant.token_url):
            raise ConfigError(
                f"the sign-in to {grant.server!r} was for {tokens.origin}, and its entry names"
                f" another address now. Correct the entry, or sign in anew: {grant.remedy}"
            )
        self._take(tokens)
        return tokens

    def _take(self, tokens: Tokens) -> None:
        self._hold(*tokens.secrets)
        self._tokens = tokens
