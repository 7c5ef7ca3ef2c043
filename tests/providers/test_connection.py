"""PRV-13: names, certificates and silences below HTTP."""

import asyncio
import ipaddress
import ssl
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from nodwyn_tui.config.environment import Proxies
from nodwyn_tui.errors import ProviderError
from nodwyn_tui.providers.base import Endpoint, Timeouts
from nodwyn_tui.providers.client import Client
from nodwyn_tui.providers.failures import reason
from nodwyn_tui.system.clock import SystemClock
from tests.providers.samples import KEY

x509 = pytest.importorskip("cryptography.x509", reason="keyring brings it on Linux only")
ec = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.ec")
hashes = pytest.importorskip("cryptography.hazmat.primitives.hashes")
serialization = pytest.importorskip("cryptography.hazmat.primitives.serialization")

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"


def client(base_url: str, proxies: Proxies | None = None, **more: Any) -> Client:
    times = Timeouts(connect=2.0, first=2.0, idle=2.0)
    where = Endpoint(server="s", provider="openai", base_url=base_url, timeouts=times, **more)
    return Client(where, clock=SystemClock(), proxies=proxies)


async def refused(asked: Client) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        await asked.get_json("/models")
    await asked.aclose()
    return caught.value


@pytest.fixture
async def silent() -> AsyncIterator[str]:
    """A server that accepts, and never says a word."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    server.close()


@pytest.fixture
def authority(tmp_path: Path) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1 that nobody knows, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.oid.NameOID.COMMON_NAME, "test")])
    place = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(place, critical=False)
        .sign(key, hashes.SHA256())
    )
    encoding, nothing = serialization.Encoding.PEM, serialization.NoEncryption()
    (tmp_path / "ca.pem").write_bytes(certificate.public_bytes(encoding))
    secret = key.private_bytes(encoding, serialization.PrivateFormat.PKCS8, nothing)
    (tmp_path / "key.pem").write_bytes(secret)
    return tmp_path / "ca.pem", tmp_path / "key.pem"


@pytest.fixture
async def encrypted(authority: tuple[Path, Path]) -> AsyncIterator[str]:
    """A server with that certificate."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(*authority)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(ANSWER)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    yield f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    server.close()


async def test_a_servers_own_authority_is_trusted_when_named(
    encrypted: str, authority: tuple[Path, Path]
) -> None:
    asked = client(encrypted, ca_file=str(authority[0]), secret=KEY)
    assert await asked.get_json("/models") == {}
    await asked.aclose()


async def test_an_unknown_authority_is_refused_even_where_insecure(encrypted: str) -> None:
    """`insecure` allows plain http; it never makes https blind."""
    found = await refused(client(encrypted, insecure=True))
    assert found.kind == "transport"
    assert "ca_file" in found.remedy


async def test_a_ca_file_that_is_not_there() -> None:
    found = await refused(client("https://127.0.0.1:9", ca_file="/nowhere/ca.pem"))
    assert "/nowhere/ca.pem" in found.message
    assert "ca_file" in found.remedy


async def test_a_listing_has_little_patience(silent: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nodwyn_tui.providers.client.LISTING_TIMEOUT_S", 0.2)
    found = await refused(client(silent))
    assert found.kind == "timeout"
    assert "0.2 s" in found.message


@pytest.mark.parametrize(
    ("addresses", "is_allowed"),
    [(["192.168.1.5"], True), (["10.0.0.1", "8.8.8.8"], False), (["8.8.8.8"], False), ([], False)],
)
async def test_a_name_is_as_near_as_its_addresses(
    addresses: list[str], is_allowed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PRV-13: plain http goes to a name only if all it means is private."""

    async def resolve(host: str, port: object, **_: object) -> list[Any]:
        assert host == "workshop"
        return [(2, 1, 6, "", (address, 0)) for address in addresses]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", resolve)
    found = await refused(client("http://workshop:1", Proxies(all="http://127.0.0.1:9")))
    assert ("insecure = true" in found.remedy) != is_allowed


async def test_a_name_that_nobody_knows() -> None:
    found = await refused(client("http://no-such-host.invalid:1"))
    assert found.kind in {"transport", "timeout"}
    proxied = await refused(
        client("http://no-such-host.invalid:1", Proxies(all="http://127.0.0.1:9"))
    )
    assert "insecure = true" in proxied.remedy


def test_reasons_come_from_the_bottom() -> None:
    """The operating system's words, not the layers' above it, nor an older failure's."""
    outer = RuntimeError("all attempts failed")
    outer.__cause__ = ExceptionGroup("both", [ConnectionRefusedError(111, "x"), OSError(101, "y")])
    outer.__context__ = ValueError("an older one")
    assert reason(outer) == "Connection refused"
    assert reason(RuntimeError(OSError(-2, "Name unknown"))) == "Name unknown"
    assert reason(RuntimeError()) == "RuntimeError"


async def test_host_that_no_name_can_have_is_an_error() -> None:
    found = await refused(client("http://xn--/v1"))
    assert found.kind == "transport"
    assert "base_url" in found.remedy


async def test_server_that_speaks_no_tls_is_said_to(silent: str) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        found = await refused(client(f"https://127.0.0.1:{port}"))
    assert "http://" in found.remedy
