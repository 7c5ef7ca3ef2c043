"""A strict fake of the OpenAI Responses API: refuses, caches and counts as the real one does."""

import base64
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from tests.fakes.prefix_cache import BYTES_A_TOKEN
from tests.fakes.responses_cache import CacheKind, ReplicaCache, shown
from tests.fakes.responses_events import Events, Reason, Said, items_of
from tests.fakes.responses_rules import Issued, responses_problems
from tests.fakes.script import Item, Say, Script, ScriptedCall
from tests.fakes.server import FakeServer, Received


class ResponsesServer(FakeServer):
    """`with ResponsesServer([say("hello"), call("fs-read", {"path": "a.txt"})]) as server: ...`

    `reasons` is whether its model reasons; `encrypts` when it gives the reasoning encrypted;
    `context_mode` what the model reads of earlier turns' reasoning unless told; `terse` leaves out
    what some servers do (places and numbers of events), `bare_end` the items of the last event;
    `replicas` are machines with a cache each, picked by the key, or on a `plan` by `session-id`;
    `tag` stands in its ids, so that two servers give no call the same one.
    """

    provider = "responses"
    chat_path = "/v1/responses"
    stream_type = "text/event-stream; charset=utf-8"

    def __init__(
        self,
        script: Sequence[Script] = (),
        *,
        model: str = "test-model",
        cache: CacheKind = "blocks",
        replicas: int = 1,
        plan: bool = False,
        context: int = 100_000,
        key: str = "",
        reasons: bool = True,
        encrypts: Literal["asked", "always", "never"] = "asked",
        context_mode: str = "current_turn",
        terse: bool = False,
        bare_end: bool = False,
        tag: str = "",
        repeat: bool = False,
    ) -> None:
        super().__init__(script, repeat=repeat)
        self._tag = tag
        self.model, self.context, self.key = model, context, key
        self.issued: dict[str, Issued] = {}
        self._cache, self._plan = ReplicaCache(cache, replicas), plan
        self._reasons, self._encrypts, self._context_mode = reasons, encrypts, context_mode
        self._terse, self._bare_end = terse, bare_end

    @property
    def base_url(self) -> str:
        return f"{self.root}/v1"

    def chat(self, request: Received) -> Item | tuple[int, Any]:
        if refused := self._unauthorised(request):
            return refused
        body = request.body
        if problems := list(responses_problems(body, self.issued)):
            self.violations += [words for _, words in problems]
            return _error(*problems[0])
        if refused := self._unsupported(body):
            return refused
        if body["model"] != self.model:
            return _error(400, f"The requested model '{body['model']}' does not exist.")
        item = self.next_item(body)
        if item is None:
            self.violations.append("a request past the end of the script")
            return _error(500, "the script is at its end", "server_error")
        reasoning = body.get("reasoning") or {}
        mode = reasoning.get("context") or self._context_mode
        key = request.headers.get("session-id", "") if self._plan else body.get("prompt_cache_key")
        self.here.read = self._cache.read(body, shown(body["input"], mode), key or "")
        self.here.encrypts = self._gives_encrypted(body)
        if self.here.read.prompt > self.context:
            words = "Your input exceeds the context window of this model."
            return _error(400, words, "context_length_exceeded")
        self.reads.append((self.here.read.prompt, self.here.read.cached))
        return item

    def listing(self, request: Received) -> tuple[int, Any] | None:
        if request.path != "/v1/models":
            return None
        entry = {"id": self.model, "object": "model", "created": 1, "owned_by": "fake"}
        listed = (200, {"object": "list", "data": [entry]})
        return self._unauthorised(request) or listed

    def render(self, item: Say, body: Mapping[str, Any]) -> Iterable[bytes]:
        events = Events(terse=self._terse)
        outputs = self._outputs(item)
        response = _response(self.here.number, self.model)
        for kind in ("response.created", "response.in_progress"):
            yield events.event(kind, response=response)
        for index, output in enumerate(outputs):
            yield from events.item(index, output, item.piece)
        if item.ending != "done":
            return
        given = [] if self._bare_end else outputs
        finish = {"length": "max_output_tokens"}.get(item.finish or "", item.finish)
        status = "incomplete" if finish else "completed"
        end = {
            **response,
            "status": status,
            "output": given,
            "incomplete_details": {"reason": finish} if finish else None,
            "usage": self._usage(item),
        }
        yield events.event(f"response.{status}", response=end)

    def _outputs(self, item: Say) -> list[dict[str, Any]]:
        """The items of a reply as they are when done, each reasoning remembered with what follows
        it.
        """
        wanted = items_of(item)
        made = [self._made(index, each) for index, each in enumerate(wanted)]
        for index, each in enumerate(made):
            if encrypted := each.get("encrypted_content"):
                after = made[index + 1] if index + 1 < len(made) else None
                summary = "\n\n".join(part["text"] for part in each["summary"])
                self.issued[encrypted] = Issued(summary, after and _key(after))
        return made

    def _made(self, index: int, item: Reason | Said | ScriptedCall) -> dict[str, Any]:
        name = f"{self._tag}{self.here.number}_{index}"
        match item:
            case Reason():
                made: dict[str, Any] = {"id": f"rs_{name}", "type": "reasoning"}
                made["summary"] = [{"type": "summary_text", "text": t} for t in item.summary]
                if item.text:
                    made["content"] = [{"type": "reasoning_text", "text": item.text}]
                made["status"] = "completed"
                return made | ({"encrypted_content": _sealed(name)} if self.here.encrypts else {})
            case Said():
                part = {"type": "output_text", "text": item.text, "annotations": []}
                made = {"id": f"msg_{name}", "type": "message", "role": "assistant"}
                made |= {"status": "completed", "content": [part]}
                return made | ({"phase": item.phase} if item.phase else {})
            case _:
                id_ = item.id if item.id is not None else f"call_{name}"
                made = {"id": f"fc_{name}", "type": "function_call", "status": "completed"}
                return made | {"call_id": id_, "name": item.name, "arguments": item.arguments}

    def _usage(self, item: Say) -> Mapping[str, Any] | None:
        if not isinstance(item.usage, bool):
            return item.usage
        if not item.usage:
            return None
        wanted = items_of(item)
        thought = sum(len("".join(i.summary) + i.text) for i in wanted if isinstance(i, Reason))
        output = max(1, len(repr(wanted)) // BYTES_A_TOKEN)
        read = self.here.read
        return {
            "input_tokens": read.prompt,
            "input_tokens_details": {
                "cached_tokens": read.cached,
                "cache_write_tokens": read.written,
            },
            "output_tokens": output,
            "output_tokens_details": {"reasoning_tokens": thought // BYTES_A_TOKEN},
            "total_tokens": read.prompt + output,
        }

    def _gives_encrypted(self, body: Mapping[str, Any]) -> bool:
        asked = "reasoning.encrypted_content" in (body.get("include") or [])
        return self._encrypts == "always" or (asked and self._encrypts == "asked")

    def _unsupported(self, body: Mapping[str, Any]) -> tuple[int, Any] | None:
        if self._encrypts == "never" and body.get("include"):
            return _error(400, "Encrypted content is not supported with this model.")
        if not self._reasons and (asked := sorted(body.get("reasoning") or {})):
            words = (
                f"Unsupported parameter: 'reasoning.{asked[0]}' is not supported with this model."
            )
            return _error(400, words, "unsupported_parameter")
        return None

    def _unauthorised(self, request: Received) -> tuple[int, Any] | None:
        if self.key and request.headers.get("authorization") != f"Bearer {self.key}":
            return _error(401, "Incorrect API key provided", "invalid_api_key")
        return None


def _key(item: Mapping[str, Any]) -> tuple[str, str]:
    kind = item["type"]
    match kind:
        case "function_call":
            return kind, item["call_id"]
        case "message":
            return kind, item["content"][0]["text"]
        case _:
            return kind, item.get("encrypted_content", "")


def _sealed(name: str) -> str:
    """Encrypted content: nothing that means anything, as long as the real one is."""
    data = b"".join(hashlib.sha256(f"{name} {n}".encode()).digest() for n in range(12))
    return "gAAAAA" + base64.urlsafe_b64encode(data).decode()


def _response(number: int, model: str) -> dict[str, Any]:
    return {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": 1,
        "status": "in_progress",
        "error": None,
        "incomplete_details": None,
        "model": model,
        "output": [],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": None,
    }


def _error(status: int, message: str, code: str | None = None) -> tuple[int, Any]:
    kind = "invalid_request_error" if status < 500 else "server_error"
    return status, {"error": {"message": message, "type": kind, "param": None, "code": code}}
