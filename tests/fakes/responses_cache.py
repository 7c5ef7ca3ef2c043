"""What OpenAI's prompt cache holds of Responses requests, as documented: on one machine of several,
which the request's key picks.
"""

import hashlib
import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tests.fakes.images import counted
from tests.fakes.prefix_cache import BYTES_A_TOKEN, PrefixCache
from tests.fakes.responses_rules import breakpoints, without_breakpoints

CacheKind = Literal["blocks", "breakpoints", "off"]
LEAST = 1024
LATEST = 80


@dataclass(frozen=True)
class Read:
    """Tokens of a prompt, how many came from the cache, and how many were written to it."""

    prompt: int
    cached: int
    written: int = 0


class ReplicaCache:
    """`blocks`: automatic, in steps of 128 tokens from 1,024 on, and free. `breakpoints`: entries
    at the last three explicit marks and an implicit one at the end, or at the last four where that
    is not wanted; writes are counted. A request without a key goes to the next machine in turn.
    """

    def __init__(self, kind: CacheKind, replicas: int = 1) -> None:
        self._turns = itertools.count()
        self._kind, self._replicas = kind, replicas
        self._automatic = [PrefixCache("blocks") for _ in range(replicas)]
        self._entries: list[dict[str, None]] = [{} for _ in range(replicas)]

    def read(self, body: Mapping[str, Any], items: Sequence[Any], key: str) -> Read:
        """Counts a prompt of these input items, and remembers it."""
        at = int(_name(key.encode()), 16) if key else next(self._turns)
        at %= self._replicas
        head = [body.get("tools") or [], body.get("instructions") or ""]
        plain = [without_breakpoints(item) for item in items]
        if self._kind == "breakpoints":
            marks = [len(head) + place + 1 for place in breakpoints(items)]
            explicit = (body.get("prompt_cache_options") or {}).get("mode") == "explicit"
            marks = marks[-4:] if explicit else [*marks[-3:], len(head) + len(plain)]
            return self._marked([*head, *plain], marks, self._entries[at])
        counted = self._automatic[at].count({"tools": head[0], "messages": [head[1], *plain]})
        return Read(counted.prompt, counted.cached if self._kind == "blocks" else 0)

    def _marked(self, pieces: Sequence[Any], marks: list[int], entries: dict[str, None]) -> Read:
        written = [json.dumps(counted(piece), sort_keys=True).encode() for piece in pieces]
        ends = [sum(map(len, written[:n])) // BYTES_A_TOKEN for n in range(len(written) + 1)]
        names = [_name(b"\n".join(written[:n])) for n in range(len(written) + 1)]
        latest = list(entries)[-LATEST:]
        cached = max((ends[n] for n, name in enumerate(names) if name in latest), default=0)
        cached = min(cached, ends[-1] - 1)
        kept = [mark for mark in sorted({*marks}) if ends[mark] >= LEAST]
        for mark in kept:
            entries.pop(names[mark], None)
            entries[names[mark]] = None
        return Read(ends[-1], cached, max(ends[kept[-1]] - cached, 0) if kept else 0)


def shown(items: Sequence[Any], context: str) -> list[Any]:
    """The items that the model reads: under `current_turn`, no reasoning of earlier turns."""
    if context == "all_turns":
        return list(items)
    last = max((n for n, item in enumerate(items) if item.get("role") == "user"), default=0)
    return [item for n, item in enumerate(items) if n > last or item.get("type") != "reasoning"]


def _name(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
