"""The prompt cache behind a router of chat completions that passes cache marks on: what they become
in the protocol of the model's own server.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from tests.fakes.anthropic_cache import MarkedCache
from tests.fakes.prefix_cache import THINKING, Counted

LEAST = 1_024


class MarkedChat:
    """Counts prompts, and remembers what their marks ask it to."""

    def __init__(self) -> None:
        self._cache = MarkedCache(LEAST)

    def count(self, body: Mapping[str, Any]) -> Counted:
        """Counts a request's prompt; an ask of the whole request is a mark on its last block."""
        blocks = [block for message in body.get("messages") or [] for block in _blocks(message)]
        found = self._cache.count(
            {name: body.get(name) for name in ("tools", "cache_control")}, blocks
        )
        return Counted(found.prompt, found.read, found.short + found.long)


def _blocks(message: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """A message's blocks: its reasoning, its content's parts, its calls."""
    role = f"{message['role']} {message.get('tool_call_id', '')}"
    for name in (*THINKING, "reasoning_details"):
        if name in message:
            yield role, {name: message[name]}
    content = message.get("content") or []
    yield from (
        (role, part) for part in ([{"text": content}] if isinstance(content, str) else content)
    )
    yield from ((role, call) for call in message.get("tool_calls", ()))
