"""The token counts of a reply, in whatever chunk and spelling they come."""

from collections.abc import Mapping
from typing import Any

from nodwyn_tui.domain.request import Json
from nodwyn_tui.domain.usage import Usage

MOST = 2**53
"""A larger figure is none: what is counted never comes near it, and arithmetic would fail."""

Path = tuple[str, ...]
Counts = Mapping[str, tuple[Path, ...]]
"""Our name of a count, and where servers put it; the first that is there counts."""

CHAT: Counts = {
    "prompt_tokens": (("prompt_tokens",),),
    "cached_tokens": (
        ("prompt_tokens_details", "cached_tokens"),
        ("prompt_cache_hit_tokens",),
        ("cache_read_input_tokens",),
        ("cached_tokens",),
    ),
    "cache_write_tokens": (
        ("prompt_tokens_details", "cache_write_tokens"),
        ("cache_creation_input_tokens",),
    ),
    "output_tokens": (("completion_tokens",),),
    "reasoning_tokens": (("completion_tokens_details", "reasoning_tokens"), ("reasoning_tokens",)),
}
"""Chat completions."""

RESPONSES: Counts = {
    "prompt_tokens": (("input_tokens",),),
    "cached_tokens": (("input_tokens_details", "cached_tokens"),),
    "cache_write_tokens": (("input_tokens_details", "cache_write_tokens"),),
    "cache_write_long_tokens": (
        ("input_tokens_details", "cache_write_tokens_details", "ttl_12h_tokens"),
    ),
    "output_tokens": (("output_tokens",),),
    "reasoning_tokens": (("output_tokens_details", "reasoning_tokens"),),
}
"""The Responses API."""

_OF_PROMPT = ("prompt_tokens", "cached_tokens", "cache_write_tokens", "cache_write_long_tokens")


class UsageReader:
    """Gathers usage over a stream: a later figure replaces an earlier one, a missing one nothing
    (PRV-10).
    """

    def __init__(self, counts: Counts = CHAT) -> None:
        self._counts = counts
        self._found: dict[str, float] = {}

    def chunk(self, chunk: Mapping[str, Json]) -> None:
        """Takes what a chunk, or a choice, reports."""
        wrapped = chunk.get("x_groq")
        if isinstance(wrapped, Mapping):
            self.chunk(wrapped)
        if isinstance(usage := chunk.get("usage"), Mapping):
            self._usage(usage)
        if isinstance(timings := chunk.get("timings"), Mapping):
            self._timings(timings)

    def usage(self) -> Usage:
        """The figures so far. A prompt of no tokens is no prompt: nothing was counted (C08)."""
        found = dict(self._found)
        if not found.get("prompt_tokens"):
            for name in _OF_PROMPT:
                found.pop(name, None)
        counts: dict[str, Any] = {
            name: round(value) for name, value in found.items() if name != "cost_usd"
        }
        return Usage(**counts, cost_usd=found.get("cost_usd"))

    def _usage(self, usage: Mapping[str, Json]) -> None:
        for name, paths in self._counts.items():
            figures = (_at(usage, path) for path in paths)
            self._keep(name, next((figure for figure in figures if figure is not None), None))
        self._keep("cost_usd", _figure(usage.get("cost")))

    def _timings(self, timings: Mapping[str, Json]) -> None:
        """llama.cpp's: `cache_n` of the prompt came from its cache, `prompt_n` it read."""
        cached, read = _figure(timings.get("cache_n")), _figure(timings.get("prompt_n"))
        if cached is not None and read is not None:
            self._found.setdefault("cached_tokens", cached)
            self._found.setdefault("prompt_tokens", cached + read)
        self._keep("prompt_eval_ms", _figure(timings.get("prompt_ms")))
        self._keep("eval_ms", _figure(timings.get("predicted_ms")))
        if (written := _figure(timings.get("predicted_n"))) is not None:
            self._found.setdefault("output_tokens", written)

    def _keep(self, name: str, value: float | None) -> None:
        if value is not None:
            self._found[name] = value


def _at(value: Json, path: Path) -> float | None:
    for step in path:
        if not isinstance(value, Mapping):
            return None
        value = value.get(step)
    return _figure(value)


def _figure(value: Json) -> float | None:
    """A count or an amount, `None` for anything that cannot be one."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if 0 <= value <= MOST else None
