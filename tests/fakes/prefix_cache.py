"""What a server reads of a prompt from its cache, counted in tokens of four bytes."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tests.fakes.images import counted

CacheKind = Literal["slot", "blocks", "off"]
BYTES_A_TOKEN = 4
_PIECE = 1 << 16
THINKING = ("thinking", "reasoning", "reasoning_content")


@dataclass(frozen=True)
class Counted:
    """Tokens of a prompt, how many of them came from the cache, and how many were written there at
    a price.
    """

    prompt: int
    cached: int
    written: int = 0


class PrefixCache:
    """`slot`: the last prompt's prefix, as llama.cpp keeps it. `blocks`: the longest prefix of any
    earlier prompt, from 1,024 tokens on and in steps of 128, as hosted servers document it. At
    least one token of every prompt is read anew. A `forgetful` template leaves out the thinking
    that stands before the last message of a user.
    """

    def __init__(self, kind: CacheKind, *, forgetful: bool = False) -> None:
        self._kind, self._forgetful = kind, forgetful
        self._seen: list[bytes] = []

    def count(self, body: Mapping[str, Any]) -> Counted:
        """Counts a request's prompt, and remembers it."""
        prompt = prompt_bytes(without_thinking(body) if self._forgetful else body)
        total = len(prompt) // BYTES_A_TOKEN
        shared = max((shared_bytes(prompt, old) for old in self._seen), default=0)
        cached = min(shared // BYTES_A_TOKEN, total - 1)
        if self._kind == "blocks":
            cached = in_blocks(cached)
            self._seen.append(prompt)
        elif self._kind == "slot":
            self._seen = [prompt]
        return Counted(total, cached)

    def clear(self) -> None:
        """The model was loaded anew."""
        self._seen.clear()


def in_blocks(tokens: int) -> int:
    """How much of a prompt's beginning an automatic hosted cache gives."""
    return tokens // 128 * 128 if tokens >= 1024 else 0


def shared_bytes(one: bytes, other: bytes) -> int:
    """How many first bytes two texts share: piece by piece, since they may be long."""
    end = min(len(one), len(other))
    low = 0
    while low < end and one[low : low + _PIECE] == other[low : low + _PIECE]:
        low += _PIECE
    low, high = min(low, end), min(low + _PIECE, end)
    while low < high:
        middle = (low + high + 1) // 2
        same = one[low:middle] == other[low:middle]
        low, high = (middle, high) if same else (low, middle - 1)
    return low


def overflow(tokens: int, limit: int) -> dict[str, Any]:
    """llama.cpp's words for a prompt that does not fit, which Ollama passes on."""
    words = f"request ({tokens} tokens) exceeds the available context size ({limit} tokens)"
    error = {"code": 400, "message": words, "type": "exceed_context_size_error"}
    return {"error": {**error, "n_prompt_tokens": tokens, "n_ctx": limit}}


def prompt_bytes(body: Mapping[str, Any]) -> bytes:
    """The prompt in the order that servers render it: tools, then message after message."""
    messages: Sequence[Any] = body.get("messages") or []
    pieces = [body.get("tools") or [], *counted([without_marks(each) for each in messages])]
    return b"\n".join(json.dumps(piece, sort_keys=True).encode() for piece in pieces)


def without_marks(message: Any) -> Any:
    """A message as the model reads it: its parts without cache marks."""
    content = message.get("content") if isinstance(message, Mapping) else None
    if not isinstance(content, list):
        return message
    parts = [{name: part[name] for name in part if name != "cache_control"} for part in content]
    return {**message, "content": parts}


def without_thinking(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """The request without the thinking before the last message of a user."""
    messages: Sequence[Any] = body.get("messages") or []
    last = max((n for n, each in enumerate(messages) if each["role"] == "user"), default=0)
    kept = [
        {name: each[name] for name in each if name not in THINKING} if at < last else each
        for at, each in enumerate(messages)
    ]
    return {**body, "messages": kept}
