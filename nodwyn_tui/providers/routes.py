"""Which way a request takes: through which proxy, and whether its host is near. Pure."""

import ipaddress
from urllib.parse import urlsplit

from nodwyn_tui.config.environment import Proxies

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_PORTS = {"http": 80, "https": 443}


def proxy_for(url: str, proxies: Proxies) -> str:
    """The proxy for a URL, '' for none (C70). Loopback never takes one."""
    scheme, host = url.partition("://")[0].lower(), host_of(url)
    if not host or is_loopback(host) or _is_exempt(host, _port(url), proxies.no_proxy):
        return ""
    own = proxies.https if scheme == "https" else proxies.http
    chosen = (own or proxies.all).strip()
    return chosen if not chosen or "://" in chosen else f"http://{chosen}"


def proxy_ready(url: str, proxy: str) -> str:
    """The event of the HTTP library with which a proxy has made the way to a URL; '' where it makes
    none, but passes each request on.
    """
    if proxy.startswith("socks"):
        return "socks.setup_socks5_connection.complete"
    return "proxy.start_tls.started" if proxy and url.lower().startswith("https:") else ""


def shown(url: str) -> str:
    """An address without the name, the password and the query that it may hold."""
    scheme, _, rest = url.partition("://")
    place, slash, path = rest.partition("/")
    return f"{scheme}://{place.rpartition('@')[2]}{slash}{path.partition('?')[0]}"


def is_loopback(host: str) -> bool:
    """The host is this machine by its very name or address."""
    name = host.lower().rstrip(".")
    if name == "localhost" or name.endswith(".localhost"):
        return True
    address = parse_address(host)
    return address is not None and (address.is_loopback or address.is_unspecified)


def is_near(host: str) -> bool:
    """The host is an address of this machine or of a private network."""
    if is_loopback(host):
        return True
    address = parse_address(host)
    return address is not None and (address.is_private or address.is_link_local)


def parse_address(host: str) -> Address | None:
    """An IP address as one, `None` for a name. An IPv4 address inside an IPv6 one counts as it."""
    try:
        address = ipaddress.ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address


def _port(url: str) -> int | None:
    target = urlsplit(url)
    try:
        return target.port or _PORTS.get(target.scheme)
    except ValueError:
        return None


def _is_exempt(host: str, port: int | None, no_proxy: str) -> bool:
    rules = no_proxy.replace(",", " ").split()
    return any(_matches(rule.lower(), host.lower().rstrip("."), port) for rule in rules)


def _matches(rule: str, host: str, port: int | None) -> bool:
    """One entry: `*`, a name and all below it, an address, a range; with or without a port."""
    if rule == "*":
        return True
    rule, wanted = _split_port(rule)
    if wanted is not None and wanted != port:
        return False
    address = parse_address(host)
    if address is not None:
        return _covers(rule, address)
    name = rule.removeprefix("*").strip(".")
    return bool(name) and (host == name or host.endswith(f".{name}"))


def _split_port(rule: str) -> tuple[str, int | None]:
    head, colon, tail = rule.rpartition(":")
    bare_ipv6 = ":" in head and not head.endswith("]")
    if colon and tail.isdecimal() and not bare_ipv6:
        return head.strip("[]"), int(tail)
    return rule.strip("[]"), None


def _covers(rule: str, address: Address) -> bool:
    try:
        return address in ipaddress.ip_network(rule, strict=False)
    except ValueError:
        return False


def origin_of(url: str) -> str:
    """Where a key belongs: a URL's scheme, host and port."""
    scheme, _, rest = url.strip().partition("://")
    return f"{scheme.lower()}://{rest.partition('/')[0].rpartition('@')[2].lower()}"


def host_of(url: str) -> str:
    """A URL's host, '' if it has none."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""
