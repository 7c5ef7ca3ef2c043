"""The token counts of an Anthropic reply: its prompt is what it read anew, plus what came from the
cache, plus what was written to it (PRV-10).
"""

from collections.abc import Mapping

from nodwyn_tui.domain.request import Json
from nodwyn_tui.domain.usage import Usage
from nodwyn_tui.providers.token_counts import MOST

_PROMPT = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
_LONG = ("cache_creation", "ephemeral_1h_input_tokens")
_THINKING = ("output_tokens_details", "thinking_tokens")


class UsageReader:
    """Gathers usage over a stream: it is cumulative, so a later figure replaces an earlier one; a
    missing one replaces nothing, nor does a zero, which servers send that count once only (C08).
    """

    def __init__(self) -> None:
        self._found: dict[str, int] = {}

    def take(self, usage: Json) -> None:
        """What an event reports."""
        if not isinstance(usage, Mapping):
            return
        for name in (*_PROMPT, "output_tokens"):
            self._keep(name, usage.get(name))
        for table, name in (_LONG, _THINKING):
            inner = usage.get(table)
            self._keep(name, inner.get(name) if isinstance(inner, Mapping) else None)

    def usage(self) -> Usage:
        """The figures so far. A prompt of no tokens is no prompt: nothing was counted (C08)."""
        found = self._found
        prompt = sum(found.get(name, 0) for name in _PROMPT)
        output, thinking = found.get("output_tokens"), found.get("thinking_tokens")
        if not prompt:
            return Usage(output_tokens=output, reasoning_tokens=thinking)
        return Usage(
            prompt_tokens=prompt,
            cached_tokens=found.get("cache_read_input_tokens"),
            cache_write_tokens=found.get("cache_creation_input_tokens"),
            cache_write_long_tokens=found.get("ephemeral_1h_input_tokens"),
            output_tokens=output,
            reasoning_tokens=thinking,
        )

    def _keep(self, name: str, value: Json) -> None:
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST:
            self._found[name] = value or self._found.get(name, 0)
