"""PRV-4: signing in with a browser, tokens renewed in time, and none of them ever seen."""

import asyncio
import json
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from nodwyn_tui.config.keychain import Keychain
from nodwyn_tui.errors import ConfigError, ProviderError
from nodwyn_tui.providers import sign_in as signing
from nodwyn_tui.providers.base import Endpoint
from nodwyn_tui.providers.client import Client
from nodwyn_tui.providers.oauth import Grant, SignedIn, Tokens, kept, tokens_of
from nodwyn_tui.providers.provider import Provider
from nodwyn_tui.providers.routes import origin_of
from nodwyn_tui.providers.sign_in import challenge, sign_in
from nodwyn_tui.system.clock import Clock, SystemClock
from tests.fakes.authorization_server import CLIENT_ID, AuthorizationServer, body_of
from tests.fakes.chat_server import ChatServer
from tests.fakes.clocks import SetClock
from tests.fakes.script import Raw, say
from tests.providers.samples import model, parameters, request, text_of, user

ROOT = Path(__file__).parents[2]
PLACE = "file:keys/lan.tokens"
REDIRECT = "http://127.0.0.1/callback"


def grant(issuer: AuthorizationServer, base_url: str, clock: Clock | None = None) -> Grant:
    token_url = issuer.settings["token_url"]
    where = Endpoint(server="lan (tokens)", provider="oauth", base_url=token_url)
    return Grant(
        server="lan",
        origin=origin_of(base_url),
        token_url=token_url,
        client_id=CLIENT_ID,
        scopes=tuple(issuer.settings["scopes"]),
        client=lambda: Client(where, clock=clock or SystemClock()),
    )


class House:
    """A person who signed in: their keychain, and a server that knows the latest token."""

    def __init__(self, folder: Path, issuer: AuthorizationServer, server: ChatServer) -> None:
        self.keychain, self.clock, self.held = Keychain(folder), SetClock(), set[str]()
        self.issuer, self.server = issuer, server
        self.grant = grant(issuer, server.base_url, self.clock)
        self.keys = self.another()

    def another(self) -> SignedIn:
        """As another process would begin."""
        return SignedIn(self.grant, self.keychain, PLACE, self.clock, self._hold)

    async def sign_in(self) -> Tokens:
        tokens = await sign_in(
            self.grant, self.issuer.settings["authorize_url"], REDIRECT, self.clock, browse
        )
        self.keychain.keep(PLACE, kept(tokens))
        return tokens

    def provider(self) -> Provider:
        where = Endpoint(server="lan", provider="openai", base_url=self.server.base_url)
        return Provider(where, clock=self.clock, keys=self.keys)

    async def ask(self) -> str:
        """One request, and what came back."""
        us = self.provider()
        exchange = us.stream(request(user("hi")), model(), parameters())
        try:
            async with exchange:
                async for _ in exchange:
                    pass
        finally:
            await us.aclose()
        return text_of(exchange.reply)

    def _hold(self, *secrets: str) -> None:
        self.held.update(secrets)


def browse(address: str) -> None:
    """The person's browser, which follows where it is sent."""
    threading.Thread(target=_get, args=(address,), daemon=True).start()


def _get(address: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(address, timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


@pytest.fixture
def house(tmp_path: Path) -> Any:
    with ChatServer([say("hello")], repeat=True) as server:
        with AuthorizationServer(lambda token: setattr(server, "key", token)) as issuer:
            yield House(tmp_path, issuer, server)
            assert issuer.violations == []
        assert server.violations == []


def test_the_proof_is_that_of_the_standard() -> None:
    """RFC 7636, appendix B."""
    verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
    assert challenge(verifier) == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"


async def test_signing_in_and_asking(house: House) -> None:
    tokens = await house.sign_in()
    assert tokens.scopes == ("models.use", "offline")
    assert tokens.response["id_token"] in tokens.secrets
    assert await house.ask() == "hello"
    assert {tokens.access, tokens.refresh} < house.held
    assert house.issuer.grants == ["authorization_code"]
    assert not any(secret in repr(tokens) for secret in house.issuer.secrets)


async def test_the_whole_response_is_kept(house: House) -> None:
    """Its scopes as they were granted, whatever was asked for; nothing else is read as one."""
    house.issuer._scope = "models.use chatgpt.tokens.use.direct"
    tokens = await house.sign_in()
    assert tokens.scopes == ("models.use", "chatgpt.tokens.use.direct")
    text = house.keychain.read(PLACE)
    assert tokens_of(text) == tokens
    assert json.loads(text)["response"]["scope"] == "models.use chatgpt.tokens.use.direct"
    for other in (
        "",
        "sk-a-key",
        "{}",
        "[]",
        text[:-1],
        text.replace('"version":1', '"version":2'),
    ):
        assert tokens_of(other) is None


async def test_only_the_answer_with_the_state_counts(house: House) -> None:
    """Whoever else knocks at the port is turned away, and the sign-in goes on."""
    answers = []

    def strangers(address: str) -> None:
        back = parse_qs(urlsplit(address).query)["redirect_uri"][0]
        port = back.rpartition(":")[2]

        def knock() -> None:
            answers.extend(
                _get(url)[0]
                for url in (
                    f"{back}?code=stolen",
                    f"{back}?code=stolen&state=guessed",
                    f"{back}?error=access_denied&state=guessed",
                    f"http://127.0.0.1:{port}/favicon.ico"
                    if "/" not in port
                    else back.replace("/callback", "/favicon.ico"),
                )
            )
            _get(address)

        threading.Thread(target=knock, daemon=True).start()

    tokens = await sign_in(
        house.grant, house.issuer.settings["authorize_url"], REDIRECT, house.clock, strangers
    )
    assert answers == [400, 400, 400, 404]
    assert tokens.access in house.issuer.secrets


async def test_a_refusal_is_told(house: House) -> None:
    house.issuer._denies = True
    with pytest.raises(ProviderError, match="refused: access_denied: they said no"):
        await house.sign_in()


async def test_nobody_comes_back(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signing, "PATIENCE_S", 0.2)
    with pytest.raises(ProviderError, match="nobody signed in"):
        await sign_in(house.grant, "http://127.0.0.1:9", REDIRECT, house.clock, lambda _: None)


async def test_a_port_that_is_taken_is_told(house: House) -> None:
    port = urlsplit(house.server.root).port
    with pytest.raises(ProviderError, match="another port in the entry's redirect_uri"):
        await sign_in(
            house.grant, "http://x", f"http://127.0.0.1:{port}/cb", house.clock, lambda _: None
        )


async def test_a_token_is_renewed_before_it_ends(house: House) -> None:
    """The server never sees one that has ended."""
    first = await house.sign_in()
    house.clock.move(3600 - 61)
    assert await house.keys.key() == first.access
    house.clock.move(2)
    assert await house.ask() == "hello"
    assert house.issuer.grants == ["authorization_code", "refresh_token"]
    renewed = await house.keys.tokens()
    assert (renewed.access != first.access, renewed.refresh != first.refresh) == (True, True)
    assert tokens_of(house.keychain.read(PLACE)) == renewed
    assert renewed.scopes == first.scopes


async def test_a_refresh_token_that_is_not_replaced_stays(house: House) -> None:
    house.issuer._rotates = False
    first = await house.sign_in()
    house.clock.move(3600)
    assert await house.ask() == "hello"
    assert (await house.keys.tokens()).refresh == first.refresh


async def test_a_refused_token_is_renewed_once(house: House) -> None:
    """Also where nobody said when it ends."""
    house.issuer._expires_in = None
    await house.sign_in()
    house.clock.move(10**7)
    house.server.key = "revoked-meanwhile"
    assert await house.ask() == "hello"
    assert house.issuer.grants == ["authorization_code", "refresh_token"]
    assert [r.headers["authorization"] for r in house.server.bodies] == [
        f"Bearer {token}" for token in house.issuer.secrets if token.startswith("at.")
    ]


async def test_a_server_that_refuses_every_token_is_asked_twice_at_most(house: House) -> None:
    await house.sign_in()
    house.issuer._issued = lambda _: None
    house.server.key = "nobody-has-it"
    with pytest.raises(ProviderError, match="authentication") as caught:
        await house.ask()
    assert len(house.server.bodies) == 2
    assert not any(secret in str(caught.value) for secret in house.issuer.secrets)


async def test_a_sign_in_that_ended_says_what_to_do(house: House) -> None:
    """SEC-1: though the server repeats what it was sent."""
    await house.sign_in()
    house.issuer.refresh_token = ""
    house.clock.move(3600)
    with pytest.raises(ProviderError, match=r"invalid_grant.*auth set lan --sign-in") as caught:
        await house.ask()
    assert caught.value.kind == "authentication"
    assert not any(secret in str(caught.value) for secret in house.issuer.secrets)
    assert "[key]" in str(caught.value)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ((200, {"token_type": "bearer"}), "holds no token"),
        ((200, {"access_token": "", "token_type": "bearer"}), "holds no token"),
        ((200, {"access_token": "a\nb", "token_type": "bearer"}), "holds no token"),
        ((200, {"access_token": "x", "token_type": "mac"}), "kind that is not known"),
        (Raw(b"<html>", "text/html", 503), "server error|overloaded"),
        (Raw(body_of([1]), "application/json", 200), "holds no token"),
    ],
)
async def test_answers_that_are_no_tokens(house: House, answer: Any, words: str) -> None:
    await house.sign_in()
    house.clock.move(3600)
    house.issuer.refuse = answer
    with pytest.raises(ProviderError, match=words):
        await house.ask()
    assert await house.ask() == "hello"


async def test_a_token_that_still_holds_outlasts_an_issuer_that_is_down(house: House) -> None:
    first = await house.sign_in()
    house.clock.move(3600 - 30)
    house.issuer.refuse = (503, {})
    assert await house.keys.key() == first.access
    assert await house.keys.key() != first.access


async def test_an_interrupted_renewal_is_carried_through(house: House) -> None:
    """A refresh token that was sent is spent: its successor is kept, whoever stopped waiting."""
    await house.sign_in()
    house.clock.move(3600)
    gate = threading.Event()
    granted = house.issuer._token
    house.issuer._token = lambda received: (gate.wait(10), granted(received))[1]  # type: ignore[method-assign,func-returns-value]
    asking = asyncio.create_task(house.keys.key())
    while len(house.issuer.requests) < 3:
        await asyncio.sleep(0.01)
    asking.cancel()
    await asyncio.wait([asking])
    gate.set()
    assert await house.keys.key() == house.server.key
    assert await house.another().key() == house.server.key
    assert house.issuer.grants.count("refresh_token") == 1


async def test_many_that_ask_at_once_renew_once(house: House) -> None:
    await house.sign_in()
    house.clock.move(3600)
    other = house.another()
    got = await asyncio.gather(*(keys.key() for keys in [house.keys, other] * 4))
    assert set(got) == {house.server.key}
    assert house.issuer.grants.count("refresh_token") == 1


PROCESS = """
import asyncio, sys
from pathlib import Path
from nodwyn_tui.config.keychain import Keychain
from nodwyn_tui.providers.base import Endpoint
from nodwyn_tui.providers.client import Client
from nodwyn_tui.providers.oauth import Grant, SignedIn
from nodwyn_tui.system.clock import SystemClock

folder, place, token_url, origin, client_id = sys.argv[1:]
where = Endpoint(server="lan", provider="oauth", base_url=token_url)
grant = Grant(server="lan", origin=origin, token_url=token_url, client_id=client_id, scopes=(),
              client=lambda: Client(where, clock=SystemClock()))
keys = SignedIn(grant, Keychain(Path(folder)), place, SystemClock(), lambda *_: None)
sys.stdin.read()
print(asyncio.run(keys.key()))
"""


async def test_processes_do_not_both_spend_a_refresh_token(house: House, tmp_path: Path) -> None:
    """The fake ends the whole sign-in where one comes back."""
    await house.sign_in()  # in 2026 by the test's clock, and a process has the machine's
    tokens = tokens_of(house.keychain.read(PLACE))
    assert tokens is not None
    house.keychain.keep(PLACE, kept(tokens).replace("2026-", "2001-"))
    words = [str(tmp_path), PLACE, house.grant.token_url, house.grant.origin, CLIENT_ID]
    processes = [
        await asyncio.create_subprocess_exec(
            sys.executable, "-c", PROCESS, *words, cwd=ROOT,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        )
        for _ in range(3)
    ]  # fmt: skip
    said = await asyncio.gather(*(process.communicate(b"") for process in processes))
    assert {out.decode().strip() for out, _ in said} == {house.server.key}
    assert house.issuer.grants.count("refresh_token") == 1


@pytest.mark.parametrize("changed", ["origin", "token_url"])
async def test_a_sign_in_serves_only_the_server_it_was_for(house: House, changed: str) -> None:
    """PRV-13: a token goes to the host that it was granted for, a refresh token to its issuer."""
    tokens = await house.sign_in()
    text = kept(tokens).replace(getattr(tokens, changed), "https://elsewhere.example")
    house.keychain.keep(PLACE, text)
    with pytest.raises(ConfigError, match="names another address"):
        await house.keys.tokens()
    before = len(house.issuer.requests)
    with pytest.raises(ProviderError, match="names another address"):
        await house.ask()
    assert (len(house.issuer.requests), house.server.requests) == (before, [])


async def test_nobody_is_signed_in(house: House) -> None:
    with pytest.raises(ConfigError, match="auth set lan --sign-in"):
        await house.keys.tokens()


def test_an_origin_is_a_place_without_its_rest() -> None:
    cases: dict[str, str] = {
        "https://Api.Example.com/v1": "https://api.example.com",
        "HTTP://u:p@127.0.0.1:8000/x?y": "http://127.0.0.1:8000",
    }
    found: Callable[[str], str] = origin_of
    assert {url: found(url) for url in cases} == cases
