"""The only reader of the process's environment variables."""

import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from nodwyn_tui.domain.words import Pictures

KEY_VARIABLES: Mapping[str, tuple[str, ...]] = {
    "ollama": ("OLLAMA_API_KEY",),
    "openrouter": ("OPENROUTER_API_KEY",),
    "openai": ("OPENAI_API_KEY",),
    "anthropic": ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
    "deepseek": ("DEEPSEEK_API_KEY",),
    "cerebras": ("CEREBRAS_API_KEY",),
    "groq": ("GROQ_API_KEY",),
    "mistral": ("MISTRAL_API_KEY",),
    "together": ("TOGETHER_API_KEY",),
    "fireworks": ("FIREWORKS_API_KEY",),
    "baseten": ("BASETEN_API_KEY",),
    "xai": ("XAI_API_KEY",),
}
"""The variables that hold each well-known server's key, the usual one first."""

LOCAL_KEY = "NODWYN_LOCAL_KEY"
"""The variable by which the child that serves the small local model gets its key."""

OLLAMA_PORT = 11434
_SCHEME_PORTS = {"http": 80, "https": 443}
_ANY_ADDRESS = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "[::1]"}
_SHORTEST_SECRET = 8
"""A shorter value is left alone: it would match by chance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proxies:
    """Proxy addresses by the target's scheme, and the hosts that need none; '' where unset."""

    http: str = ""
    https: str = ""
    all: str = ""
    no_proxy: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """What the environment says. `ollama_url` is '' where `OLLAMA_HOST` is unset; paths are as
    they were given. `repr` shows no variable: they hold keys.
    """

    config_file: str = ""
    home: str = ""
    log_file: str = ""
    no_color: bool = False
    has_desktop: bool = False
    pictures: Pictures = "halves"
    editor: str = ""
    ollama_url: str = ""
    proxies: Proxies = Proxies()
    ca_file: str = ""
    variables: Mapping[str, str] = field(default_factory=dict, repr=False)

    def get(self, name: str) -> str:
        """A variable's value, '' where unset: for `env:NAME` credentials."""
        return self.variables.get(name, "")

    def for_children(self, names: Iterable[str], values: Iterable[str]) -> dict[str, str]:
        """The environment of a tool's child: without the well-known key variables, those that
        `names` lists, and any variable that holds one of the `values` (SEC-1, C77).
        """
        hidden = {*names, *(name for group in KEY_VARIABLES.values() for name in group)}
        secrets = [value for value in values if len(value) >= _SHORTEST_SECRET]
        return {
            name: value
            for name, value in self.variables.items()
            if name not in hidden and not any(secret in value for secret in secrets)
        }


def read_environment() -> Environment:
    """The environment of this process."""
    return environment_of(os.environ)


def environment_of(variables: Mapping[str, str]) -> Environment:
    """The same of any variables. Proxy variables count in both cases, the lower one first."""

    def either(name: str) -> str:
        return (variables.get(name) or variables.get(name.upper(), "")).strip()

    return Environment(
        config_file=variables.get("NODWYN_CONFIG", ""),
        home=variables.get("NODWYN_HOME", ""),
        log_file=variables.get("NODWYN_LOG", ""),
        no_color=bool(variables.get("NO_COLOR")),
        has_desktop=_has_desktop(variables),
        pictures=_pictures(variables),
        editor=variables.get("VISUAL") or variables.get("EDITOR") or "vi",
        ollama_url=ollama_url(variables.get("OLLAMA_HOST", "")),
        proxies=Proxies(
            http=either("http_proxy"),
            https=either("https_proxy"),
            all=either("all_proxy"),
            no_proxy=either("no_proxy"),
        ),
        ca_file=variables.get("SSL_CERT_FILE", ""),
        variables=dict(variables),
    )


def _has_desktop(variables: Mapping[str, str]) -> bool:
    """Whether a web browser opens in a window, where it does not take the terminal."""
    named = ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY")
    return sys.platform == "darwin" or any(variables.get(name) for name in named)


_KITTY = ("xterm-kitty", "xterm-ghostty", "ghostty")
_SIXEL = ("foot", "mlterm", "contour", "WezTerm", "iTerm.app", "yaft")
"""Terminals by `TERM` or `TERM_PROGRAM`, of which that is known. Konsole and WezTerm speak Kitty's
protocol too, but not the part with which a picture stays in its cells.
"""


def _pictures(variables: Mapping[str, str]) -> Pictures:
    """How pictures are shown, by what the terminal says of itself: to ask it would take keys from
    the person. A multiplexer lets none through.
    """
    term = variables.get("TERM", "")
    names = {term, term.partition("-")[0], variables.get("TERM_PROGRAM", "")}
    if variables.get("NO_COLOR") or term == "dumb":
        return "none"
    if variables.get("TMUX") or variables.get("STY") or names & {"screen", "tmux"}:
        return "halves"
    if variables.get("KITTY_WINDOW_ID") or names & {*_KITTY}:
        return "kitty"
    return "sixel" if names & {*_SIXEL} else "halves"


def ollama_url(host: str) -> str:
    """The base URL that an `OLLAMA_HOST` means to a client; '' for a blank one (C69).

    A host alone gets Ollama's port, one with a scheme the scheme's; a port that is none counts as
    missing; an address to listen on becomes the loopback address.
    """
    text = host.strip().strip("\"'").strip()
    if not text:
        return ""
    scheme, found, rest = text.partition("://")
    if not found:
        scheme, rest = "http", text
    place, _, path = rest.partition("/")
    name, port = _host_and_port(place)
    if port is None:
        port = _SCHEME_PORTS.get(scheme.lower(), OLLAMA_PORT) if found else OLLAMA_PORT
    name = _ANY_ADDRESS.get(name.strip("[]"), name)
    if name.count(":") > 1 and not name.startswith("["):
        name = f"[{name}]"
    tail = f"/{path.rstrip('/')}" if path.rstrip("/") else ""
    return f"{scheme.lower()}://{name}:{port}{tail}"


def _host_and_port(place: str) -> tuple[str, int | None]:
    name, colon, digits = place.rpartition(":")
    bare_ipv6 = ":" in name and not name.endswith("]")
    if not colon or bare_ipv6 or place.endswith("]"):
        return place, None
    return name, int(digits) if digits.isdecimal() and int(digits) < 65536 else None
