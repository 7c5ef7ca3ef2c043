"""How long servers keep what they read of a prompt, as they document it."""

import re
from collections.abc import Mapping

from nodwyn_tui.domain.events import Parameters

MINUTE, HOUR = 60.0, 3600.0

ASKED_FOR: Mapping[str, Mapping[str, float]] = {
    "openai": {"ephemeral": 5 * MINUTE, "1h": HOUR},
    "anthropic": {"ephemeral": 5 * MINUTE, "1h": HOUR},
    "responses": {"ephemeral": 30 * MINUTE, "12h": 12 * HOUR},
}
"""Seconds after the last use, by protocol and `cache_control`. The sources: Anthropic's prompt
caching (`ttl` 5m and 1h), which chat-completions routers take over; OpenAI's
`prompt_cache_options.ttl` (30m and 12h). What servers keep unasked they keep for as long as they
have room, and promise nothing."""

KEEP_ALIVE = 5 * MINUTE
"""How long Ollama keeps a model loaded, and with it the last prompt, where it is not told: its
documented `OLLAMA_KEEP_ALIVE`."""

_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": MINUTE, "h": HOUR}
_PIECE = re.compile(r"(\d+\.?\d*|\.\d+)(ns|us|µs|ms|s|m|h)")


def cache_life(provider: str, parameters: Parameters) -> float | None:
    """Seconds after its last use for which a request's prompt stays in the cache; `None` where
    nothing is promised or it stays for good.
    """
    if provider == "ollama":
        return kept_alive(parameters.keep_alive) if parameters.keep_alive else KEEP_ALIVE
    return ASKED_FOR.get(provider, {}).get(parameters.cache_control or "")


def kept_alive(text: str) -> float | None:
    """Seconds of an Ollama `keep_alive`: a bare number is seconds, else it is a Go duration (`30m`,
    `1h30m`); `None` for ever (below zero), and for what is neither.
    """
    if text.isdecimal():
        return float(text)
    pieces = list(_PIECE.finditer(text))
    if not pieces or "".join(piece[0] for piece in pieces) != text:
        return None
    return sum(float(piece[1]) * _UNITS[piece[2]] for piece in pieces)
