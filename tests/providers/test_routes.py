"""C70, PRV-13: which proxy a request takes, and which hosts are near."""

import socket

import pytest

from nodwyn_tui.config.environment import Proxies
from nodwyn_tui.errors import ProviderError
from nodwyn_tui.providers.base import Timeouts
from nodwyn_tui.providers.routes import is_near, proxy_for, shown
from tests.fakes.chat_server import ChatServer
from tests.fakes.script import say
from tests.providers.samples import model, parameters, provider, request, text_of, user

DEAD = "http://127.0.0.1:9"
ALL = Proxies(http=DEAD, https=DEAD, all=DEAD)


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:8080/v1",
        "http://127.8.8.8",
        "http://localhost:1234",
        "http://LOCALHOST./x",
        "https://api.localhost",
        "http://[::1]:11434",
        "http://[::ffff:127.0.0.1]:1",
        "http://0.0.0.0:11434",
    ],
)
def test_loopback_never_takes_a_proxy(url: str) -> None:
    assert proxy_for(url, ALL) == ""


@pytest.mark.parametrize(
    ("rule", "url"),
    [
        ("*", "https://example.com"),
        ("192.168.0.0/16,.lan", "http://192.168.7.9:8080"),
        ("192.168.0.0/16,.lan", "http://box.lan"),
        (".lan", "http://lan"),
        ("*.lan", "http://a.b.lan"),
        ("LAN", "http://Box.Lan."),
        ("x, example.com ,y", "https://api.example.com"),
        ("x example.com", "https://example.com"),
        ("10.0.0.7", "http://10.0.0.7:1"),
        ("10.0.0.7:80", "http://10.0.0.7"),
        ("example.com:8443", "https://example.com:8443"),
        ("fd00::/8", "http://[fd12::1]:80"),
        ("[fd12::1]:80", "http://[fd12::1]:80"),
        ("fd12::1", "http://[fd12::1]"),
    ],
)
def test_no_proxy_in_all_its_forms(rule: str, url: str) -> None:
    assert proxy_for(url, Proxies(all=DEAD, no_proxy=rule)) == ""


@pytest.mark.parametrize(
    ("rule", "url"),
    [
        ("", "http://192.168.7.9"),
        (",", "https://example.com"),
        ("ple.com", "https://example.com"),
        ("192.168.0.0/24", "http://192.168.7.9"),
        ("example.com:443", "https://example.com:8443"),
        ("10.0.0.7", "http://10.0.0.70"),
        ("nonsense/99", "http://10.0.0.7"),
    ],
)
def test_others_do_take_it(rule: str, url: str) -> None:
    assert proxy_for(url, Proxies(all=DEAD, no_proxy=rule)) == DEAD


def test_the_schemes_own_proxy_comes_first() -> None:
    proxies = Proxies(http="http://h:1", https="s:2", all="socks5://a:3")
    assert proxy_for("http://10.0.0.1", proxies) == "http://h:1"
    assert proxy_for("https://10.0.0.1", proxies) == "http://s:2"
    assert proxy_for("http://10.0.0.1", Proxies(all="socks5://a:3")) == "socks5://a:3"


def test_a_proxys_password_is_never_shown() -> None:
    assert shown("http://me:word@proxy.lan:3128") == "http://proxy.lan:3128"
    assert shown("https://me:word@host/v1?key=x") == "https://host/v1"


@pytest.mark.parametrize(
    "host", ["10.1.2.3", "172.20.0.1", "192.168.1.1", "169.254.1.1", "fd00::1"]
)
def test_private_addresses_are_near(host: str) -> None:
    assert is_near(host)
    assert not is_near("8.8.8.8")
    assert not is_near("example.com")


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
async def test_a_local_server_is_reached_past_every_proxy(host: str) -> None:
    if ":" in host and not _has_ipv6():
        pytest.skip("this machine has no IPv6 loopback")
    with ChatServer([say("here")], host=host) as server:
        us = provider(server.base_url, proxies=ALL)
        async with us.stream(request(user("hi")), model(), parameters()) as exchange:
            async for _ in exchange:
                pass
        await us.aclose()
    assert text_of(exchange.reply) == "here"


@pytest.mark.parametrize("proxy", [DEAD, "socks5://127.0.0.1:9", "socks5h://127.0.0.1:9"])
async def test_a_failure_names_the_proxy_in_use(proxy: str) -> None:
    found = await _fails("http://192.168.77.1:8080/v1", Proxies(all=proxy))
    assert found.kind in {"transport", "timeout"}
    assert f"through the proxy {proxy}" in found.message
    assert "NO_PROXY" in found.remedy


async def test_a_proxys_refusal_names_it() -> None:
    """A gateway's empty 502 could be the proxy's own."""
    with ChatServer() as proxy:
        found = await _fails("http://192.168.77.1:8080/v1", Proxies(all=proxy.root))
    assert found.status == 404
    assert proxy.requests[0].path.startswith("http://192.168.77.1:8080/")


async def test_a_proxy_of_an_unknown_kind_is_an_error_only_when_used() -> None:
    found = await _fails("http://192.168.77.1:8080/v1", Proxies(all="socks4://me:word@127.0.0.1:9"))
    assert "cannot use the proxy socks4://127.0.0.1:9" in found.message
    assert "word" not in str(found)


async def _fails(base: str, proxies: Proxies) -> ProviderError:
    us = provider(base, proxies=proxies, timeouts=Timeouts(connect=2.0, first=3.0))
    with pytest.raises(ProviderError) as caught:
        async with us.stream(request(user("hi")), model(), parameters()):
            pass
    await us.aclose()
    return caught.value


def _has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True
