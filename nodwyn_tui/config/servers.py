"""The servers that exist without configuration, and which addresses may be used."""

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from nodwyn_tui.config.environment import KEY_VARIABLES, Environment
from nodwyn_tui.config.schema import DialectName, OAuthSettings, ProviderName, ServerSettings

LOCAL = "local"
"""The server of the small local model. It has an address once it is started."""

_LOOPBACK = ("127.0.0.1", "::1", "localhost")
_PRIVATE_ENDINGS = (".localhost", ".local", ".lan", ".internal", ".home.arpa")


@dataclass(frozen=True, slots=True)
class _BuiltIn:
    provider: ProviderName
    base_url: str
    dialect: DialectName = "compatible"
    cache_key_header: str = ""
    """Its own name for the header that keeps a session where its cache is (PRV-4)."""


_BUILT_IN: Mapping[str, _BuiltIn] = {
    "ollama": _BuiltIn("ollama", "http://127.0.0.1:11434"),
    "lmstudio": _BuiltIn("openai", "http://127.0.0.1:1234/v1"),
    "llamacpp": _BuiltIn("openai", "http://127.0.0.1:8080/v1", "llamacpp"),
    "vllm": _BuiltIn("openai", "http://127.0.0.1:8000/v1", "vllm"),
    LOCAL: _BuiltIn("openai", "http://127.0.0.1:0/v1", "llamacpp"),
    "openrouter": _BuiltIn("openai", "https://openrouter.ai/api/v1"),
    "openai": _BuiltIn("responses", "https://api.openai.com/v1"),
    "anthropic": _BuiltIn("anthropic", "https://api.anthropic.com"),
    "deepseek": _BuiltIn("openai", "https://api.deepseek.com", "deepseek"),
    "cerebras": _BuiltIn("openai", "https://api.cerebras.ai/v1", "cerebras"),
    "groq": _BuiltIn("openai", "https://api.groq.com/openai/v1", "vllm"),
    "mistral": _BuiltIn("openai", "https://api.mistral.ai/v1", cache_key_header="x-affinity"),
    "together": _BuiltIn("openai", "https://api.together.xyz/v1"),
    "fireworks": _BuiltIn("openai", "https://api.fireworks.ai/inference/v1"),
    "baseten": _BuiltIn("openai", "https://inference.baseten.co/v1"),
    "xai": _BuiltIn("openai", "https://api.x.ai/v1", cache_key_header="x-grok-conv-id"),
}


def built_in_servers(environment: Environment) -> dict[str, ServerSettings]:
    """The well-known servers. A hosted one's credential names its usual variable; Ollama's names
    one only where it is set, for a local Ollama needs no key. `OLLAMA_HOST` moves Ollama (C69).
    """
    servers = {}
    for name, known in _BUILT_IN.items():
        variables = KEY_VARIABLES.get(name, ())
        found = next((variable for variable in variables if environment.get(variable)), "")
        if not found and variables and name != "ollama":
            found = variables[0]
        servers[name] = ServerSettings(
            provider=known.provider,
            base_url=(environment.ollama_url if name == "ollama" else "") or known.base_url,
            credential=f"env:{found}" if found else "",
            cache_key_header=known.cache_key_header,
        )
    return servers


def default_dialect(server_name: str) -> DialectName:
    """The dialect of models on this server that name none (PRV-2)."""
    known = _BUILT_IN.get(server_name)
    return known.dialect if known else "compatible"


def address_fault(server: ServerSettings) -> str:
    """What is wrong with a server's address, '' if nothing is (PRV-13). Never shows the address:
    a password may stand in it.
    """
    parts = _split(server.base_url)
    if parts is None:
        return "the address is not one of http:// or https:// with a host"
    if parts.username or parts.password:
        return "a user name or password may not stand in the address; use credential"
    if parts.query or parts.fragment:
        return "the address may not have a ? or # part"
    if parts.scheme == "http" and not server.insecure and not is_private(parts.hostname or ""):
        return (
            f"http to {parts.hostname!r} would go over the network unencrypted; use https, or set "
            "insecure = true if you mean it"
        )
    return ""


def sign_in_faults(oauth: OAuthSettings) -> dict[str, str]:
    """What is wrong with the addresses of a sign-in, by key: nobody on the way may read what goes
    there, and the browser comes back to this machine alone.
    """
    faults = {}
    for key, address in (("authorize_url", oauth.authorize_url), ("token_url", oauth.token_url)):
        parts = _split(address)
        if parts is None or parts.username or parts.fragment:
            faults[key] = "the address is not one of https:// with a host"
        elif parts.scheme == "http" and not is_private(parts.hostname or ""):
            faults[key] = "a sign-in may not go over the network unencrypted; use https"
    parts = _split(oauth.redirect_uri)
    local = parts is not None and parts.scheme == "http" and parts.hostname in _LOOPBACK
    if parts is None or not local or parts.username or parts.query or parts.fragment:
        faults["redirect_uri"] = "the browser comes back to http://127.0.0.1, [::1] or localhost"
    return faults


def _split(address: str) -> SplitResult | None:
    try:
        parts = urlsplit(address)
        _ = parts.port  # raises where it is no number
    except ValueError:
        return None
    odd = any(sign.isspace() or not sign.isprintable() for sign in address)
    return parts if parts.scheme in ("http", "https") and parts.hostname and not odd else None


def is_private(host: str) -> bool:
    """Whether a host is this machine or on the local network: a loopback, private or link-local
    address, a name without a dot, or one of the endings that the public net does not know.
    """
    try:
        address = ipaddress.ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        name = host.lower().rstrip(".")
        return bool(name) and ("." not in name or name.endswith(_PRIVATE_ENDINGS))
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_private or (mapped or address).is_link_local
