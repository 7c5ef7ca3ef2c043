"""A fake of an aggregator that gives `reasoning_details`, and wants them back untouched."""

import base64
import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tests.fakes.chat_server import ChatServer
from tests.fakes.script import Item, Say
from tests.fakes.server import Received, pieces

Details = list[dict[str, Any]]


@dataclass(frozen=True)
class Given:
    """What a reply had: its details, its text and how many calls."""

    details: Details
    text: str
    calls: int


class DetailsServer(ChatServer):
    """Reasoning in fragments: a signed text, then a block that only the provider can read. What
    comes back must be what was given, on its own message, and without the text beside it.
    """

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.given: list[Given] = []

    def chat(self, request: Received) -> Item | tuple[int, Any]:
        messages = (request.body or {}).get("messages") or []
        problems = [p for m in messages if "reasoning_details" in m for p in self._problems(m)]
        if problems:
            self.violations += problems
            return 400, {"error": {"message": problems[0], "code": 400}}
        return super().chat(request)

    def thinking(self, item: Say) -> Iterator[Mapping[str, Any]]:
        if not item.thinking:
            return
        details = self._details(item.thinking)
        self.given.append(Given(details, item.text, len(item.calls)))
        text, sealed = details
        head = {name: text[name] for name in ("type", "format", "index")}
        for piece in pieces(item.thinking, item.piece):
            fragment = {**head, "text": piece, "signature": None}
            yield {"reasoning": piece, "reasoning_details": [fragment]}
        for piece in pieces(text["signature"], 100):
            yield {"reasoning_details": [{**head, "signature": piece}]}
        yield {"reasoning_details": [sealed]}

    def _details(self, text: str) -> Details:
        name = hashlib.sha256(f"{self.here.number} {text}".encode()).digest()
        blob = base64.b64encode(name * 9).decode()
        return [
            {
                "type": "reasoning.text",
                "format": "anthropic-claude-v1",
                "index": 0,
                "text": text,
                "signature": blob,
            },
            {
                "type": "reasoning.encrypted",
                "id": f"rs_{self.here.number}",
                "format": "openai-responses-v1",
                "index": 1,
                "data": blob[::-1],
            },
        ]

    def _problems(self, message: Mapping[str, Any]) -> Iterator[str]:
        if beside := sorted({"reasoning", "reasoning_content"} & set(message)):
            yield f"{beside[0]} beside reasoning_details"
        found = [given for given in self.given if given.details == message["reasoning_details"]]
        if not found:
            yield "reasoning_details: not as they were given"
        elif (_text(message.get("content")), len(message.get("tool_calls") or [])) not in [
            (given.text, given.calls) for given in found
        ]:
            yield "reasoning_details: on another message than their own"


def _text(content: Any) -> str:
    """A message's text: one that may bear a cache mark stands in parts."""
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content)
    return content or ""
