"""A strict fake of a chat-completions server: refuses, caches and counts as real ones do."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from tests.fakes.chat_rules import Flavour, chat_problems
from tests.fakes.marked_chat import MarkedChat
from tests.fakes.prefix_cache import BYTES_A_TOKEN, CacheKind, PrefixCache, overflow
from tests.fakes.script import Item, Say, Script, ScriptedCall
from tests.fakes.server import FakeServer, Received, pieces

_THINKING: Mapping[Flavour, str] = {"cerebras": "reasoning", "vllm": "reasoning"}


class ChatServer(FakeServer):
    """`with ChatServer([say("hello"), call("fs-read", {"path": "a.txt"})]) as server: ...`

    `flavour` is the kind of server, `key` what it wants as a bearer token ('' nothing), `context`
    its size in tokens, `props` whether it has llama.cpp's `/props`, `entry` more of its listing,
    `forgetful` whether its template leaves earlier thinking out.
    """

    chat_path = "/v1/chat/completions"
    stream_type = "text/event-stream"

    def __init__(
        self,
        script: Sequence[Script] = (),
        *,
        model: str = "test-model",
        flavour: Flavour = "compatible",
        cache: CacheKind | Literal["marks"] = "slot",
        context: int = 32_768,
        key: str = "",
        props: bool = False,
        entry: Mapping[str, Any] | None = None,
        forgetful: bool = False,
        repeat: bool = False,
        host: str = "127.0.0.1",
    ) -> None:
        super().__init__(script, repeat=repeat, host=host)
        self.model, self.flavour, self.context, self.key = model, flavour, context, key
        self.cache = MarkedChat() if cache == "marks" else PrefixCache(cache, forgetful=forgetful)
        self._props, self._entry = props, entry

    @property
    def base_url(self) -> str:
        return f"{self.root}/v1"

    def chat(self, request: Received) -> Item | tuple[int, Any]:
        if refused := self._unauthorised(request):
            return refused
        body = request.body
        if problems := list(chat_problems(body, self.flavour)):
            self.violations += problems
            return self._invalid(problems[0])
        if body["model"] != self.model:
            return _error(404, f"The model `{body['model']}` does not exist", "model_not_found")
        item = self.next_item(body)
        if item is None:
            self.violations.append("a request past the end of the script")
            return _error(500, "the script is at its end", "server_error")
        self.here.counted = self.cache.count(body)
        if self.here.counted.prompt > self.context:
            return 400, overflow(self.here.counted.prompt, self.context)
        self.reads.append((self.here.counted.prompt, self.here.counted.cached))
        return item

    def listing(self, request: Received) -> tuple[int, Any] | None:
        if refused := self._unauthorised(request):
            return refused
        match request.path.partition("?")[0]:
            case "/v1/models":
                entry = {"id": self.model, "object": "model", "created": 1, "owned_by": "fake"}
                more = self._entry or {"context_length": self.context}
                return 200, {"object": "list", "data": [{**entry, **more}]}
            case "/props" if self._props:
                settings = {"n_ctx": self.context}
                return 200, {"default_generation_settings": settings, "total_slots": 1}
            case _:
                return None

    def render(self, item: Say, body: Mapping[str, Any]) -> Iterable[bytes]:
        yield self._chunk({"role": "assistant", "content": None})
        for delta in self.thinking(item):
            yield self._chunk(delta)
        for piece in pieces(item.text, item.piece):
            yield self._chunk({"content": piece})
        for index, call in enumerate(item.calls):
            yield from self._call(index, call, item.piece)
        if item.ending != "done":
            return
        yield self._chunk({}, item.finish or ("tool_calls" if item.calls else "stop"))
        usage = self._usage(item)
        if usage and (body.get("stream_options") or {}).get("include_usage"):
            yield _event({**_CHUNK, "model": self.model, "choices": [], "usage": usage})
        yield b"data: [DONE]\n\n"

    def thinking(self, item: Say) -> Iterator[Mapping[str, Any]]:
        """The deltas of a reply's thinking."""
        field = _THINKING.get(self.flavour, "reasoning_content")
        return ({field: piece} for piece in pieces(item.thinking, item.piece))

    def _call(self, index: int, call: ScriptedCall, size: int) -> Iterator[bytes]:
        id_ = call.id if call.id is not None else f"call_{self.here.number}_{index}"
        head = {"name": call.name, "arguments": ""}
        yield self._chunk(_fragment(index, {"id": id_, "type": "function", "function": head}))
        for piece in pieces(call.arguments, size):
            yield self._chunk(_fragment(index, {"function": {"arguments": piece}}))

    def _chunk(self, delta: Mapping[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return _event({**_CHUNK, "model": self.model, "choices": [choice]})

    def _usage(self, item: Say) -> Mapping[str, Any] | None:
        if not isinstance(item.usage, bool):
            return item.usage
        if not item.usage:
            return None
        said = item.text + item.thinking + "".join(call.arguments for call in item.calls)
        output = max(1, len(said.encode()) // BYTES_A_TOKEN)
        return {
            "prompt_tokens": self.here.counted.prompt,
            "completion_tokens": output,
            "total_tokens": self.here.counted.prompt + output,
            "prompt_tokens_details": {
                "cached_tokens": self.here.counted.cached,
                **(
                    {"cache_write_tokens": written}
                    if (written := self.here.counted.written)
                    else {}
                ),
            },
        }

    def _unauthorised(self, request: Received) -> tuple[int, Any] | None:
        if self.key and request.headers.get("authorization") != f"Bearer {self.key}":
            return _error(401, "Incorrect API key provided", "invalid_api_key")
        return None

    def _invalid(self, problem: str) -> tuple[int, Any]:
        if self.flavour == "cerebras":
            kind, code = "invalid_request_error", "wrong_api_format"
            return 400, {
                "message": problem,
                "type": kind,
                "param": "validation_error",
                "code": code,
            }
        return _error(400, problem, None)


_CHUNK: Mapping[str, Any] = {"id": "chatcmpl-fake", "object": "chat.completion.chunk", "created": 1}


def _event(value: Mapping[str, Any]) -> bytes:
    return f"data: {json.dumps(value)}\n\n".encode()


def _fragment(index: int, fragment: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"tool_calls": [{"index": index, **fragment}]}


def _error(status: int, message: str, code: str | None) -> tuple[int, Any]:
    kind = "invalid_request_error" if status < 500 else "server_error"
    return status, {"error": {"message": message, "type": kind, "param": None, "code": code}}
