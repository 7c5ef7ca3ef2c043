"""A strict fake of the Anthropic Messages API: refuses, signs, drops, caches and counts as its
reference says.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.fakes.anthropic_cache import MarkedCache
from tests.fakes.anthropic_rules import BINDING, MOST_BYTES, anthropic_problems
from tests.fakes.anthropic_thinking import Chain, Signatures, seen_by_model
from tests.fakes.prefix_cache import BYTES_A_TOKEN
from tests.fakes.script import Item, Say, Script, ScriptedCall
from tests.fakes.server import FakeServer, Received, pieces

_LEVELS = ("low", "medium", "high", "xhigh", "max")


@dataclass(frozen=True)
class Thought:
    """A thinking block; `redacted` ones have no text."""

    text: str = ""
    redacted: bool = False


Piece = Thought | str | ScriptedCall


@dataclass(frozen=True)
class Turn(Say):
    """A reply whose blocks come in an order of their own."""

    blocks: tuple[Piece, ...] = ()


def turn(*blocks: Piece, **more: Any) -> Turn:
    """A reply of these blocks."""
    return Turn(blocks=blocks, **more)


class AnthropicServer(FakeServer):
    """`with AnthropicServer([say("hello"), call("fs-read", {"path": "a.txt"})]) as server: ...`

    `key` is what it wants ('' nothing) in the header that `auth` names; `thinks` are the types of
    thinking that its model takes; `binding`: blocks are held to their prefix; `minimum` is the
    least prompt that is cached, `context` and `most_output` are tokens. `dropped` counts, request
    by request, the blocks that were left out of what the model saw, by reason.
    """

    provider = "anthropic"
    chat_path = "/v1/messages"
    stream_type = "text/event-stream"

    def __init__(
        self,
        script: Sequence[Script] = (),
        *,
        model: str = "test-model",
        key: str = "",
        auth: str = "bearer",
        thinks: Sequence[str] = ("adaptive", "disabled", "between_tools"),
        binding: bool = True,
        minimum: int = 512,
        context: int = 200_000,
        most_output: int = 64_000,
        repeat: bool = False,
        host: str = "127.0.0.1",
    ) -> None:
        super().__init__(script, repeat=repeat, host=host)
        self.model, self.key, self.auth, self.thinks = model, key, auth, thinks
        self.context, self.most_output = context, most_output
        self.signatures = Signatures(enforced=binding)
        self.cache = MarkedCache(minimum)
        self.dropped: list[list[str]] = []

    def chat(self, request: Received) -> Item | tuple[int, Any]:
        body = request.body
        if refused := self._unauthorised(request):
            return refused
        if len(request.content) > MOST_BYTES:
            self.violations.append("request_too_large")
            return _error(413, "request_too_large", "Request exceeds the maximum size")
        problems = [*anthropic_problems(body, request.headers), *self._model_problems(body)]
        verdict = self.signatures.check(body, self.model) if not problems else None
        if verdict:
            problems += verdict.problems
        if problems or verdict is None:
            self.violations += problems
            return _error(400, "invalid_request_error", problems[0])
        if body["model"] != self.model:
            return _error(404, "not_found_error", f"model: {body['model']}")
        item = self.next_item(body)
        if item is None:
            self.violations.append("a request past the end of the script")
            return _error(500, "api_error", "the script is at its end")
        seen = list(seen_by_model(body, verdict.dropped))
        self.here.counted = self.cache.count(body, seen)
        self.here.dropped = verdict.dropped
        self.here.reports = BINDING in request.headers.get("anthropic-beta", "")
        self.dropped.append(list(verdict.dropped.values()))
        if self.here.counted.prompt > self.context:
            words = f"{self.here.counted.prompt} tokens > {self.context} maximum"
            return _error(400, "invalid_request_error", f"prompt is too long: {words}")
        self.reads.append((self.here.counted.prompt, self.here.counted.read))
        return item

    def listing(self, request: Received) -> tuple[int, Any] | None:
        if refused := self._unauthorised(request):
            return refused
        if "anthropic-version" not in request.headers:
            return _error(400, "invalid_request_error", "anthropic-version: header is required")
        match request.path.partition("?")[0].removeprefix("/v1/models"):
            case "":
                page = {"has_more": False, "first_id": self.model, "last_id": self.model}
                return 200, {"data": [self._entry()], **page}
            case path if path == f"/{self.model}":
                return 200, self._entry()
            case path if path.startswith("/"):
                return _error(404, "not_found_error", f"model: {path[1:]}")
            case _:
                return None

    def render(self, item: Say, body: Mapping[str, Any]) -> Iterable[bytes]:
        message: dict[str, Any] = {
            "id": f"msg_{self.here.number}",
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {**self._prompt_usage(item), "output_tokens": 1},
        }
        if self.here.reports:
            message["input_transformations"] = [
                {"type": "thinking_dropped", "path": f"messages.{i}.content.{j}", "reason": why}
                for (i, j), why in self.here.dropped.items()
            ]
        yield _event("message_start", {"message": message})
        yield _event("ping", {})
        chain = Chain(body)
        for role, block in seen_by_model(body, {}):
            chain.add(role, block)
        calls = 0
        for index, piece in enumerate(_blocks(item, body)):
            yield from self._block(index, piece, calls, chain, body, item.piece)
            calls += isinstance(piece, ScriptedCall)
        if item.ending != "done":
            return
        delta = {"stop_reason": item.finish or ("tool_use" if calls else "end_turn")}
        yield _event("message_delta", {"delta": {**delta, "stop_sequence": None},
                                       "usage": self._output_usage(item)})  # fmt: skip
        yield _event("message_stop", {})

    def _block(
        self,
        index: int,
        piece: Piece,
        calls: int,
        chain: Chain,
        body: Mapping[str, Any],
        size: int,
    ) -> Iterator[bytes]:
        start, deltas, whole = self._streamed(piece, calls, chain, body, size)
        yield _event("content_block_start", {"index": index, "content_block": start})
        for delta in deltas:
            yield _event("content_block_delta", {"index": index, "delta": delta})
        yield _event("content_block_stop", {"index": index})
        chain.add("assistant", whole)

    def _streamed(
        self, piece: Piece, calls: int, chain: Chain, body: Mapping[str, Any], size: int
    ) -> tuple[Mapping[str, Any], list[Mapping[str, Any]], Mapping[str, Any]]:
        """A block's beginning, its deltas, and the block that they make."""
        match piece:
            case Thought(redacted=True):
                whole = {
                    "type": "redacted_thinking",
                    "data": self.signatures.sign(chain, "", self.model),
                }
                return whole, [], whole
            case Thought(text):
                # Unless its text is asked for, newer models sign thinking without showing it.
                text = text if body.get("thinking", {}).get("display") == "summarized" else ""
                signature = self.signatures.sign(chain, text, self.model)
                deltas: list[Mapping[str, Any]] = [
                    {"type": "thinking_delta", "thinking": part} for part in pieces(text, size)
                ]
                deltas += [
                    {"type": "signature_delta", "signature": part}
                    for part in pieces(signature, 100)
                ]
                start = {"type": "thinking", "thinking": "", "signature": ""}
                return start, deltas, {**start, "thinking": text, "signature": signature}
            case ScriptedCall(name, arguments, id_):
                made = id_ if id_ is not None else f"toolu_{self.here.number}_{calls}"
                start = {"type": "tool_use", "id": made, "name": name, "input": {}}
                deltas = [
                    {"type": "input_json_delta", "partial_json": part}
                    for part in ("", *pieces(arguments, size))
                ]
                return start, deltas, {**start, "input": _json(arguments)}
            case str():
                start = {"type": "text", "text": ""}
                deltas = [{"type": "text_delta", "text": part} for part in pieces(piece, size)]
                return start, deltas, {**start, "text": piece}

    def _prompt_usage(self, item: Say) -> Mapping[str, Any]:
        if isinstance(item.usage, bool):
            return self.here.counted.usage() if item.usage else {"input_tokens": 0}
        return item.usage

    def _output_usage(self, item: Say) -> Mapping[str, Any]:
        said = sum(len(_said(piece).encode()) for piece in _blocks(item, {}))
        thought = sum(len(p.text) for p in _blocks(item, {}) if isinstance(p, Thought))
        return {
            "output_tokens": max(1, said // BYTES_A_TOKEN),
            "output_tokens_details": {"thinking_tokens": thought // BYTES_A_TOKEN},
        }

    def _model_problems(self, body: Any) -> Iterator[str]:
        thinking = (body.get("thinking") or {}) if isinstance(body, Mapping) else {}
        kind = thinking.get("type")
        if kind == "enabled" and kind not in self.thinks:
            yield (
                '"thinking.type.enabled" is not supported for this model. Use'
                ' "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.'
            )
        elif kind and kind not in self.thinks:
            yield f"thinking: {kind} thinking is not supported on this model"
        if isinstance(body, Mapping) and body.get("max_tokens", 1) > self.most_output:
            yield f"max_tokens: {body['max_tokens']} > {self.most_output}, which is the maximum"

    def _unauthorised(self, request: Received) -> tuple[int, Any] | None:
        if not self.key:
            return None
        sent = request.headers.get("authorization" if self.auth == "bearer" else "x-api-key", "")
        if sent.removeprefix("Bearer ") == self.key:
            return None
        return _error(401, "authentication_error", f"{self.auth}: the key is not valid")

    def _entry(self) -> Mapping[str, Any]:
        yes, no = {"supported": True}, {"supported": False}
        types = {kind: yes if kind in self.thinks else no
                 for kind in ("adaptive", "between_tools", "disabled", "enabled")}  # fmt: skip
        return {
            "type": "model",
            "id": self.model,
            "display_name": "Test Model",
            "created_at": "2026-11-01T00:00:00Z",
            "lifecycle": "active",
            "max_input_tokens": self.context,
            "max_tokens": self.most_output,
            "capabilities": {
                "image_input": yes,
                "effort": {"supported": True, **dict.fromkeys(_LEVELS, yes)},
                "thinking": {"supported": "adaptive" in self.thinks, "types": types},
            },
        }


def _blocks(item: Say, body: Mapping[str, Any]) -> list[Piece]:
    """What a reply says, block by block; without thinking where it is switched off."""
    if isinstance(item, Turn) and item.blocks:
        found = list(item.blocks)
    else:
        found = [*([Thought(item.thinking)] if item.thinking else []),
                 *([item.text] if item.text else []), *item.calls]  # fmt: skip
    off = (body.get("thinking") or {}).get("type") in {"disabled", "between_tools"}
    return [piece for piece in found if not (off and isinstance(piece, Thought))]


def _said(piece: Piece) -> str:
    match piece:
        case Thought(text):
            return text
        case ScriptedCall(_, arguments, _):
            return arguments
        case str():
            return piece


def _json(arguments: str) -> Any:
    try:
        return json.loads(arguments or "{}")
    except ValueError:
        return arguments


def _event(name: str, value: Mapping[str, Any]) -> bytes:
    data = json.dumps({"type": name, **value})
    return f"event: {name}\ndata: {data}\n\n".encode()


def _error(status: int, kind: str, message: str) -> tuple[int, Any]:
    error = {"type": kind, "message": message}
    return status, {"type": "error", "error": error, "request_id": "req_fake"}
