"""PRV-13: a real proxy and a real authority on the loopback, by the environment's variables."""

import asyncio
import base64
import gc
import json
import socket
import ssl
import time
import warnings
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("cryptography", reason="keyring brings it on Linux only")

from nodwyn_tui.agent.connecting import Connector
from nodwyn_tui.config.credentials import Credentials
from nodwyn_tui.config.environment import environment_of
from nodwyn_tui.config.files import load_settings
from nodwyn_tui.config.schema import ServerSettings
from nodwyn_tui.errors import ProviderError
from nodwyn_tui.providers.provider import Provider
from nodwyn_tui.store.redact import Redactor
from nodwyn_tui.system.clock import SystemClock
from tests.fakes.certificates import Authority, authority
from tests.fakes.proxy import Proxy
from tests.providers.samples import KEY

HOST = "models.test"
"""A name that only the proxy can resolve."""

LISTING = json.dumps({"data": [{"id": "m"}]}).encode()
QUICK = {"connect": 1.0}


@pytest.fixture
def known(tmp_path: Path) -> Authority:
    return authority(tmp_path)


@asynccontextmanager
async def serving(
    context: ssl.SSLContext | None, pause: float = 0.0
) -> AsyncIterator[tuple[int, list[str]]]:
    """A server of one listing: its port, and the heads of what it was asked."""
    heads: list[str] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append((await reader.readuntil(b"\r\n\r\n")).decode("latin-1"))
        await asyncio.sleep(pause)
        length = f"Content-Length: {len(LISTING)}\r\nConnection: close\r\n\r\n"
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n{length}"
        writer.write(head.encode() + LISTING)
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context) as server:
        yield server.sockets[0].getsockname()[1], heads


async def provider(
    base_url: str, variables: Mapping[str, str], home: Path, **more: Any
) -> Provider:
    """As a session has it, in an environment with these variables."""
    environment = environment_of({"OUR_KEY": KEY, "HOME": str(home), **variables})
    file = home / "config.toml"
    connector = Connector(
        loaded=load_settings(file, environment),
        environment=environment,
        credentials=Credentials(environment, home),
        clock=SystemClock(),
        redactor=Redactor(()),
    )
    settings = ServerSettings.model_validate(
        {
            "provider": "openai",
            "base_url": base_url,
            "credential": "env:OUR_KEY",
            **more,
        }
    )
    return await connector.provider("far", settings)


async def listed(us: Provider) -> list[str]:
    try:
        return [model.id for model in await us.catalogue.models()]
    finally:
        await us.aclose()


async def refused(us: Provider) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        await listed(us)
    return caught.value


@pytest.fixture(autouse=True)
def refused_tunnels_are_let_go_of() -> Iterator[None]:
    """httpcore forgets the socket of a tunnel that a proxy refuses, and leaves closing it to the
    collector: here, and not in the middle of another test.
    """
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


async def test_a_tunnel_keeps_the_key_from_the_proxy(tmp_path: Path, known: Authority) -> None:
    """`HTTPS_PROXY` with a name and a password of its own; `SSL_CERT_FILE` for the authority."""
    secret = "Basic " + base64.b64encode(b"me:word").decode()
    async with serving(known.serving(HOST)) as (port, heads), Proxy(port, secret) as proxy:
        variables = {
            "HTTPS_PROXY": f"http://me:word@{proxy.place}",
            "SSL_CERT_FILE": str(known.file),
        }
        assert await listed(await provider(f"https://{HOST}/v1", variables, tmp_path)) == ["m"]
    (tunnel,) = proxy.heads
    assert tunnel.startswith(f"CONNECT {HOST}:443 ")
    assert KEY not in tunnel
    assert f"Bearer {KEY}" in heads[0]
    assert "Proxy-Authorization" not in heads[0]


async def test_a_servers_own_authority_comes_first(tmp_path: Path, known: Authority) -> None:
    """`ca_file`, beside config.toml, whatever `SSL_CERT_FILE` says; without both it is unknown."""
    async with serving(known.serving(HOST)) as (port, _), Proxy(port) as proxy:
        variables = {"https_proxy": f"http://{proxy.place}"}
        us = await provider(
            f"https://{HOST}",
            {**variables, "SSL_CERT_FILE": "/nowhere.pem"},
            tmp_path,
            ca_file=known.file.name,
        )
        assert await listed(us) == ["m"]
        found = await refused(await provider(f"https://{HOST}", variables, tmp_path))
    assert found.kind == "transport"
    assert "ca_file" in found.remedy


@pytest.mark.parametrize(
    ("host", "age", "words"),
    [("other.test", timedelta(days=1), "models.test"), (HOST, timedelta(days=3), "expired")],
)
async def test_a_certificate_must_be_the_hosts_own_and_still_hold(
    tmp_path: Path, known: Authority, host: str, age: timedelta, words: str
) -> None:
    """Not even `insecure` passes it."""
    async with serving(known.serving(host, age=age)) as (port, heads), Proxy(port) as proxy:
        variables = {"ALL_PROXY": proxy.place, "SSL_CERT_FILE": str(known.file)}
        us = await provider(f"https://{HOST}", variables, tmp_path, insecure=True)
        found = await refused(us)
    assert found.kind == "transport"
    assert words in found.message
    assert heads == []


async def test_a_file_that_is_no_certificate_is_named(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.pem"
    wrong.write_text("nothing of the kind")
    us = await provider(f"https://{HOST}", {"SSL_CERT_FILE": str(wrong)}, tmp_path)
    found = await refused(us)
    assert "wrong.pem" in found.message
    assert "SSL_CERT_FILE" in found.remedy


async def test_plain_http_through_a_proxy_is_for_those_who_allow_it(tmp_path: Path) -> None:
    """A name that this machine can't resolve is not known to be near."""
    async with serving(None) as (port, heads), Proxy(port) as proxy:
        variables = {"http_proxy": f"http://{proxy.place}"}
        base = f"http://{HOST}:8080/v1"
        found = await refused(await provider(base, variables, tmp_path))
        assert "insecure = true" in found.remedy
        assert (heads, proxy.heads) == ([], [])
        assert await listed(await provider(base, variables, tmp_path, insecure=True)) == ["m"]
    assert proxy.heads[0].startswith(f"GET http://{HOST}:8080/v1/models ")


async def test_what_is_exempt_goes_past_the_proxy(tmp_path: Path) -> None:
    """`NO_PROXY`: a name that nobody else knows is then not reached at all."""
    async with Proxy(9) as proxy:
        variables = {"HTTPS_PROXY": f"http://{proxy.place}", "NO_PROXY": ".test"}
        found = await refused(await provider(f"https://{HOST}", variables, tmp_path))
        assert proxy.heads == []
    assert found.kind in {"transport", "timeout"}
    assert "through the proxy" not in found.message


async def test_a_proxy_that_wants_a_password_is_named(tmp_path: Path) -> None:
    async with Proxy(9, "Basic x") as proxy:
        place = proxy.place
        variables = {"HTTPS_PROXY": f"http://me:word@{place}"}
        found = await refused(await provider(f"https://{HOST}", variables, tmp_path))
    assert f"through the proxy http://{place}" in found.message
    assert "407" in found.message
    assert "word" not in f"{found}{found.detail}{found.remedy}"


@pytest.mark.parametrize("kind", ["http", "socks5"])
async def test_a_proxy_that_says_nothing_is_given_up(tmp_path: Path, kind: str) -> None:
    """The time to connect bounds the tunnel's making too."""
    async with Proxy(9, mute=True) as proxy:
        variables = {"HTTPS_PROXY": f"{kind}://{proxy.place}"}
        us = await provider(f"https://{HOST}", variables, tmp_path, timeouts=QUICK)
        began = time.monotonic()
        found = await refused(us)
    assert found.kind == "timeout"
    assert "within 1 s" in found.message
    assert time.monotonic() - began < 5


async def test_a_tunnel_that_is_made_is_waited_for_as_any_connection(
    tmp_path: Path, known: Authority
) -> None:
    """`timeouts.connect` is for the way there alone."""
    async with serving(known.serving(HOST), pause=2.5) as (port, _), Proxy(port) as proxy:
        variables = {"HTTPS_PROXY": proxy.place, "SSL_CERT_FILE": str(known.file)}
        us = await provider(f"https://{HOST}", variables, tmp_path, timeouts={"connect": 2.0})
        assert await listed(us) == ["m"]


async def test_a_way_through_socks(tmp_path: Path, known: Authority) -> None:
    """The proxy looks the name up; what breaks there on a new connection is not asked twice."""
    async with serving(known.serving(HOST)) as (port, heads), Proxy(port) as proxy:
        variables = {"ALL_PROXY": f"socks5h://{proxy.place}", "SSL_CERT_FILE": str(known.file)}
        assert await listed(await provider(f"https://{HOST}", variables, tmp_path)) == ["m"]
        assert (proxy.heads, len(heads)) == ([HOST], 1)
    asked = []

    async def drop(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        writer.close()

    async with (
        await asyncio.start_server(drop, "127.0.0.1", 0) as server,
        Proxy(server.sockets[0].getsockname()[1]) as proxy,
    ):
        variables = {"ALL_PROXY": f"socks5://{proxy.place}"}
        us = await provider(f"http://{HOST}", variables, tmp_path, insecure=True)
        found = await refused(us)
    assert (found.kind, len(asked)) == ("transport", 1)


async def test_a_port_that_takes_no_connection_is_given_up(tmp_path: Path) -> None:
    """`timeouts.connect`: nobody accepts, and the queue is full."""
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        port = full.getsockname()[1]
        waiting = [socket.socket() for _ in range(4)]
        for each in waiting:
            each.setblocking(False)
            each.connect_ex(("127.0.0.1", port))
        began = time.monotonic()
        found = await refused(
            await provider(f"http://127.0.0.1:{port}", {}, tmp_path, timeouts=QUICK)
        )
        for each in waiting:
            each.close()
    assert found.kind == "timeout"
    assert "within 1 s" in found.message
    assert time.monotonic() - began < 5


async def test_a_server_that_never_shakes_hands_is_given_up(tmp_path: Path) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        began = time.monotonic()
        found = await refused(
            await provider(f"https://127.0.0.1:{port}", {}, tmp_path, timeouts=QUICK)
        )
    assert found.kind == "timeout"
    assert time.monotonic() - began < 5
