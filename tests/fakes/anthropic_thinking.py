"""The thinking blocks that a fake Anthropic API signed, and what it makes of them when they come
back: each is bound to all that came before it.
"""

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tests.fakes.anthropic_rules import THINKING, blocks_of

Body = Mapping[str, Any]


@dataclass(frozen=True)
class Issued:
    """A block as it went out: its text, what came before it, and the model that thought it."""

    text: str
    prefix: str
    model: str


@dataclass(frozen=True)
class Verdict:
    """What became of a request's blocks: what is wrong with them, and those that the model does not
    see, each a message's and a block's place and why.
    """

    problems: tuple[str, ...]
    dropped: Mapping[tuple[int, int], str]


class Chain:
    """Names everything of a conversation so far. Cache marks are no part of it, nor is how texts
    are split into messages of one side.
    """

    def __init__(self, body: Body) -> None:
        system = body.get("system") or []
        blocks = [{"type": "text", "text": system}] if isinstance(system, str) else system
        self._hash = hashlib.sha256()
        for piece in (*(body.get("tools") or []), *blocks):
            self.add("system", piece)

    def add(self, role: str, block: Mapping[str, Any]) -> None:
        """The next block."""
        bare = {name: value for name, value in block.items() if name != "cache_control"}
        self._hash.update(json.dumps([role, bare], sort_keys=True).encode())

    def name(self) -> str:
        """The name of what came so far."""
        return self._hash.hexdigest()


class Signatures:
    """Signs and checks. `enforced`: the prefix is checked; else only text, order and origin."""

    def __init__(self, *, enforced: bool) -> None:
        self._enforced = enforced
        self.issued: dict[str, Issued] = {}

    def sign(self, chain: Chain, text: str, model: str) -> str:
        """The signature (or the data) of a new block."""
        seed = f"{chain.name()} {len(self.issued)} {text}".encode()
        signature = base64.b64encode(hashlib.sha512(seed).digest() * 3 + b"+").decode()
        self.issued[signature] = Issued(text, chain.name(), model)
        return signature

    def check(self, body: Body, model: str) -> Verdict:
        """What a request's blocks are worth."""
        thinking = body.get("thinking") or {}
        binding = thinking.get("block_binding") or {}
        drops = binding.get("prefix_mismatch_behavior") == "drop_block"
        problems: list[str] = []
        dropped: dict[tuple[int, int], str] = {}
        chain, order = Chain(body), list(self.issued)
        for i, message in enumerate(body.get("messages") or []):
            last, failed = -1, False
            for j, block in enumerate(blocks_of(message)):
                if block.get("type") in THINKING:
                    place = f"messages.{i}.content.{j}"
                    signature = str(block.get("signature") or block.get("data"))
                    found = self.issued.get(signature)
                    if found is None or found.text != block.get("thinking", ""):
                        problems.append(f"{place}: Invalid `signature` in `thinking` block")
                    elif found.model != model:
                        dropped[i, j] = "model_binding_mismatch"
                    elif order.index(signature) < last:
                        problems.append(f"{place}: thinking blocks must keep their order")
                    elif failed or (self._enforced and found.prefix != chain.name()):
                        failed = True
                        dropped[i, j] = "prefix_binding_mismatch"
                        if not drops:
                            problems.append(
                                f"{place}: Invalid `signature` in `thinking` block. The block is"
                                " bound to a different conversation"
                            )
                    last = order.index(signature) if found else last
                else:
                    failed = False  # what follows other content is checked by itself again
                chain.add(str(message.get("role")), block)
        return Verdict(tuple(problems), dropped)


def seen_by_model(body: Body, dropped: Mapping[tuple[int, int], str]) -> Iterator[Any]:
    """The messages' blocks that the model sees, with their role, in order."""
    for i, message in enumerate(body.get("messages") or []):
        for j, block in enumerate(blocks_of(message)):
            if (i, j) not in dropped:
                yield message.get("role"), block
