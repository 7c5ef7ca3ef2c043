"""A strict fake of Ollama: refuses, loads, reloads, cuts and counts as the real one does."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tests.fakes.ollama_library import Library
from tests.fakes.ollama_rules import ollama_problems
from tests.fakes.prefix_cache import BYTES_A_TOKEN, Counted, PrefixCache, overflow
from tests.fakes.script import Item, Say, Script
from tests.fakes.server import FakeServer, Received, pieces

MS = 1_000_000
"""Nanoseconds."""


class OllamaServer(FakeServer):
    """`with OllamaServer([say("hello")]) as server: ...`

    `context` is the model's own; `default_context` what it is loaded with where a request names no
    `num_ctx`; a `forgetful` template leaves earlier thinking out. `native` calls stand in the last
    line, others in one of their own. `reloads` counts the times that a changed `num_ctx` or `shift`
    threw the cache away, `truncated` the prompts that were cut without a word. `installed` are the
    models that are there, `model` alone unless it is given; others are fetched from the `library`.
    """

    provider = "ollama"
    chat_path = "/api/chat"
    stream_type = "application/x-ndjson"

    def __init__(
        self,
        script: Sequence[Script] = (),
        *,
        model: str = "test-model",
        context: int = 131_072,
        default_context: int = 4096,
        capabilities: Sequence[str] = ("completion", "tools", "thinking"),
        native: bool = True,
        forgetful: bool = False,
        repeat: bool = False,
        host: str = "127.0.0.1",
        installed: Sequence[str] | None = None,
        library: Library | None = None,
    ) -> None:
        super().__init__(script, repeat=repeat, host=host)
        self.installed = [model] if installed is None else list(installed)
        self.library = library or Library()
        self.model, self.context, self.native = model, context, native
        self.default_context, self.capabilities = default_context, list(capabilities)
        self.loaded: tuple[int, bool] | None = None
        self.reloads = self.truncated = 0
        self.cache = PrefixCache("slot", forgetful=forgetful)

    def chat(self, request: Received) -> Item | tuple[int, Any]:
        body = request.body
        if problems := list(ollama_problems(body)):
            self.violations += problems
            return 400, {"error": problems[0]}
        if refused := self._refused(body):
            return refused
        item = self.next_item(body)
        if item is None:
            self.violations.append("a request past the end of the script")
            return 500, {"error": "the script is at its end"}
        self._load(body)
        self.here.counted = self.cache.count(body)
        limit = self.loaded[0] if self.loaded else 0
        if self.here.counted.prompt <= limit:
            self.reads.append((self.here.counted.prompt, self.here.counted.cached))
            return item
        if body.get("truncate") is False:
            return 400, {"error": json.dumps(overflow(self.here.counted.prompt, limit))}
        self.truncated += 1
        self.here.counted = Counted(limit // 2 + 2, 0)
        return item

    def answer(self, request: Received) -> Item | tuple[int, Any]:
        if (request.method, request.path) == ("POST", "/api/pull"):
            return self.library.answer(request.body, self.installed)
        return super().answer(request)

    def listing(self, request: Received) -> tuple[int, Any] | None:
        match request.path:
            case "/api/version":
                return 200, {"version": "0.33.0"}
            case "/api/tags":
                able = {"capabilities": self.capabilities}
                return 200, {"models": [{**_named(name), **able} for name in self.installed]}
            case "/api/ps":
                size = {"context_length": self.loaded[0]} if self.loaded else {}
                return 200, {"models": [{**_named(self.model), **size}] if self.loaded else []}
            case "/api/show":
                return self._show(request.body)
            case _:
                return None

    def render(self, item: Say, body: Mapping[str, Any]) -> Iterable[bytes]:
        if body.get("think") is not False:
            for piece in pieces(item.thinking, item.piece):
                yield self._line({"content": "", "thinking": piece})
        for piece in pieces(item.text, item.piece):
            yield self._line({"content": piece})
        calls = [
            {
                "id": call.id if call.id is not None else f"call_{self.here.number}_{index}",
                "function": {
                    "index": index,
                    "name": call.name,
                    "arguments": json.loads(call.arguments),
                },
            }
            for index, call in enumerate(item.calls)
        ]
        if calls and not self.native:
            yield self._line({"content": "", "tool_calls": calls})
        if item.ending == "done":
            last = {"content": "", **({"tool_calls": calls} if calls and self.native else {})}
            end = {"done": True, "done_reason": item.finish or "stop", **self._metrics(item)}
            yield self._line(last, **end)

    def _line(self, message: Mapping[str, Any], **more: Any) -> bytes:
        head = {"model": self.model, "created_at": "2026-11-29T12:00:00.000000Z"}
        value = {**head, "message": {"role": "assistant", **message}, "done": False, **more}
        return json.dumps(value, ensure_ascii=False).encode() + b"\n"

    def _metrics(self, item: Say) -> Mapping[str, Any]:
        if not isinstance(item.usage, bool):
            return item.usage
        if not item.usage:
            return {}
        said = item.text + item.thinking + "".join(call.arguments for call in item.calls)
        output = max(1, len(said.encode()) // BYTES_A_TOKEN)
        metrics = {
            "total_duration": 900 * MS,
            "load_duration": 50 * MS,
            "prompt_eval_count": self.here.counted.prompt,
            "prompt_eval_duration": 10 * MS * (self.here.counted.prompt - self.here.counted.cached),
            "eval_count": output,
            "eval_duration": 30 * MS * output,
        }
        return {name: figure for name, figure in metrics.items() if figure}

    def _load(self, body: Mapping[str, Any]) -> None:
        size = min((body.get("options") or {}).get("num_ctx", self.default_context), self.context)
        wanted = (size, body.get("shift", True))
        if self.loaded is not None and self.loaded != wanted:
            self.reloads += 1
            self.cache.clear()
        self.loaded = wanted

    def _refused(self, body: Mapping[str, Any]) -> tuple[int, Any] | None:
        name = body.get("model")
        if name not in self.installed:
            return 404, {"error": f"model '{name}' not found"}
        if body.get("think") and "thinking" not in self.capabilities:
            return 400, {"error": f'"{name}" does not support thinking'}
        if body.get("tools") and "tools" not in self.capabilities:
            return 400, {"error": f"{name} does not support tools"}
        images = any(message.get("images") for message in body["messages"])
        if images and "vision" not in self.capabilities:
            return 500, {"error": "this model is missing data required for image input"}
        return None

    def _show(self, body: Any) -> tuple[int, Any]:
        if not isinstance(body, Mapping) or body.get("model") not in self.installed:
            return 404, {"error": "model not found"}
        info = {"general.architecture": "fake", "fake.context_length": self.context}
        return 200, {"capabilities": self.capabilities, "model_info": info, "parameters": ""}


def _named(name: str) -> dict[str, Any]:
    return {"name": name, "model": name, "size": 1, "digest": "00"}
