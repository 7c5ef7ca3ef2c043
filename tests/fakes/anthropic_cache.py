"""The prompt cache of the Anthropic API as its reference describes it: entries at the marks of a
request, a look back from each, a least size, two lifetimes. Nothing expires here.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.fakes.images import counted
from tests.fakes.prefix_cache import BYTES_A_TOKEN

POSITIONS = 20
"""Blocks that a mark looks at, its own first."""


@dataclass(frozen=True)
class Counted:
    """Tokens of a prompt: in all, read from the cache, and written to it for either lifetime."""

    prompt: int
    read: int
    short: int
    long: int

    def usage(self) -> dict[str, Any]:
        """As the API reports it: what was read anew apart from the rest."""
        written = self.short + self.long
        return {
            "input_tokens": self.prompt - self.read - written,
            "cache_creation_input_tokens": written,
            "cache_read_input_tokens": self.read,
            "cache_creation": {
                "ephemeral_5m_input_tokens": self.short,
                "ephemeral_1h_input_tokens": self.long,
            },
        }


class MarkedCache:
    """Counts prompts, and remembers what their marks ask it to."""

    def __init__(self, minimum: int) -> None:
        self._minimum = minimum
        self._entries: set[str] = set()

    def count(self, body: Mapping[str, Any], messages: Sequence[tuple[str, Any]]) -> Counted:
        """Counts a request whose messages' blocks, with their role, the model sees as given."""
        system = body.get("system") or []
        head = [
            *(("tool", tool) for tool in body.get("tools") or []),
            *(("system", b) for b in ([{"text": system}] if isinstance(system, str) else system)),
        ]
        names, ends = self._chain(body, [*head, *messages], len(head))
        marks = [
            (at, _life(block))
            for at, (_, block) in enumerate([*head, *messages])
            if block.get("cache_control") and ends[at] >= self._minimum
        ]
        if ask := body.get("cache_control"):
            marks.append((len(names) - 1, str(ask.get("ttl", "5m"))))
        read = max((self._found(names, ends, at) for at, _ in marks), default=0)
        written = {"5m": 0, "1h": 0}
        done = read
        for at, life in marks:
            self._entries.add(names[at])
            written[life] += max(ends[at] - done, 0)
            done = max(done, ends[at])
        return Counted(ends[-1], read, written["5m"], written["1h"])

    def _found(self, names: Sequence[str], ends: Sequence[int], mark: int) -> int:
        for at in range(mark, max(mark - POSITIONS, -1), -1):
            if names[at] in self._entries:
                return ends[at]
        return 0

    def _chain(
        self, body: Mapping[str, Any], blocks: Sequence[tuple[str, Any]], head: int
    ) -> tuple[list[str], list[int]]:
        """For each block the name of all up to it, and the tokens up to its end."""
        names, ends, size = [], [], 0
        so_far = hashlib.sha256(str(body.get("model")).encode())
        for at, (role, block) in enumerate(blocks):
            if at == head:  # how the model thinks and chooses changes the messages' part only
                asks = [body.get(name) for name in ("thinking", "output_config", "tool_choice")]
                so_far.update(json.dumps(asks, sort_keys=True).encode())
            bare = {name: value for name, value in block.items() if name != "cache_control"}
            data = json.dumps(counted([role, bare]), sort_keys=True).encode()
            so_far.update(data)
            size += len(data)
            names.append(so_far.hexdigest())
            ends.append(-(-size // BYTES_A_TOKEN))
        return names, ends


def _life(block: Mapping[str, Any]) -> str:
    return str(block["cache_control"].get("ttl", "5m"))
