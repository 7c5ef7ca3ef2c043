"""The tour's server: Ollama's protocol on the loopback, played from the script. It is a guide and
no model, and says so wherever it names itself.
"""

import asyncio
import hashlib
import json
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from http import HTTPStatus
from types import TracebackType
from typing import Any, Self

from nodwyn_tui import __version__
from nodwyn_tui.system.clock import Clock, SystemClock, stamp
from nodwyn_tui.tour.http import HEAD_LIMIT, Answer, BadRequestError, HttpRequest, read_request
from nodwyn_tui.tour.script import Turn, next_turn

MODEL = "nodwyn-tour"
CONTEXT = 32_768
"""Tokens. Small enough for the meter to show something, and far more than the tour fills."""
PACE = 60.0
"""Tokens a second, about what a person reads along with."""

_BYTES_PER_TOKEN = 4
_PROMPT_PACE = 4_000
"""Prompt tokens a second: what an unseen prompt would take on a good machine."""
_LONGEST_WAIT_S = 0.6
_NANOSECONDS = 1_000_000_000
_WORD = re.compile(r"\s*\S+\s*")


class TourServer:
    """`async with TourServer() as server`: answers at `server.base_url` until the block is left.

    `pace` is in tokens a second; 0 sends everything at once.
    """

    def __init__(self, pace: float = PACE, clock: Clock | None = None) -> None:
        self.base_url = ""
        self._pace = pace
        self._clock = clock or SystemClock()
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self._evaluated = b""
        self._loaded: int | None = None

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0, limit=HEAD_LIMIT)
        port = self._server.sockets[0].getsockname()[1]
        self.base_url = f"http://127.0.0.1:{port}"
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._server is None:
            return
        self._server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        await self._server.wait_closed()

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answer = Answer(writer)
        try:
            try:
                await self._route(await read_request(reader), answer)
            except BadRequestError as error:
                await answer.send(error.status, {"error": str(error)})
        except (EOFError, ConnectionError):
            pass  # the other side left: Esc, or the session's end
        finally:
            writer.close()

    async def _route(self, request: HttpRequest, answer: Answer) -> None:
        match request.method, request.path:
            case "POST", "/api/chat":
                await self._chat(request.json(), answer)
            case "POST", "/api/show":
                _check_model(request.json())
                await answer.send(HTTPStatus.OK, _shown())
            case "GET", "/api/tags":
                await answer.send(HTTPStatus.OK, {"models": [_listed()]})
            case "GET", "/api/ps":
                loaded = [_listed() | {"context_length": self._loaded}] if self._loaded else []
                await answer.send(HTTPStatus.OK, {"models": loaded})
            case "GET", "/api/version":
                await answer.send(HTTPStatus.OK, {"version": __version__})
            case _:
                raise BadRequestError(HTTPStatus.NOT_FOUND, "404 page not found")

    async def _chat(self, body: Mapping[str, Any], answer: Answer) -> None:
        _check_model(body)
        messages = body.get("messages")
        if not isinstance(messages, list) or not all(isinstance(m, dict) for m in messages):
            raise BadRequestError(HTTPStatus.BAD_REQUEST, "messages must be a list of objects")
        prompt = json.dumps([body.get("tools"), messages], ensure_ascii=False).encode()
        self._loaded = _context(body)
        if (tokens := _tokens(prompt)) > self._loaded:
            raise BadRequestError(HTTPStatus.BAD_REQUEST, _too_long(tokens, self._loaded))
        fresh = _tokens(prompt) - _tokens(_shared(prompt, self._evaluated))
        evaluation_s = fresh / _PROMPT_PACE
        turn = next_turn(messages, _tool_names(body))
        answer.start_lines()
        if self._pace:
            await asyncio.sleep(min(evaluation_s, _LONGEST_WAIT_S))
        started = self._clock.monotonic()
        async for message in self._pieces(turn, thinks=body.get("think") is not False):
            await answer.line(self._line(message))
        self._evaluated = prompt
        reply_s = self._clock.monotonic() - started
        figures = {
            "done": True,
            "done_reason": "stop",
            "total_duration": _nanoseconds(evaluation_s + reply_s),
            "prompt_eval_count": tokens,
            "prompt_eval_duration": _nanoseconds(evaluation_s),
            "eval_count": _tokens(repr(turn).encode()),
            "eval_duration": _nanoseconds(reply_s),
        }
        await answer.line(self._line({"role": "assistant", "content": ""}) | figures)
        await answer.end_lines()

    async def _pieces(self, turn: Turn, *, thinks: bool) -> AsyncIterator[dict[str, Any]]:
        """The messages of the stream's lines: thinking, text word by word, then all calls."""
        for field, text in (("thinking", turn.thinking if thinks else ""), ("content", turn.text)):
            for word in _WORD.findall(text):
                yield {"role": "assistant", "content": "", field: word}
                if self._pace:
                    await asyncio.sleep(_tokens(word.encode()) / self._pace)
        if turn.calls:
            calls = [
                {
                    "id": _call_id(turn, index),
                    "function": {"index": index, "name": call.name, "arguments": call.arguments},
                }
                for index, call in enumerate(turn.calls)
            ]
            yield {"role": "assistant", "content": "", "tool_calls": calls}

    def _line(self, message: Mapping[str, Any]) -> dict[str, Any]:
        at = stamp(self._clock.now())
        return {"model": MODEL, "created_at": at, "message": message, "done": False}


def _check_model(body: Mapping[str, Any]) -> None:
    name = body.get("model")
    if name not in (MODEL, f"{MODEL}:latest"):
        raise BadRequestError(HTTPStatus.NOT_FOUND, f"model {name!r} not found")


def _context(body: Mapping[str, Any]) -> int:
    options = body.get("options")
    wanted = options.get("num_ctx") if isinstance(options, dict) else None
    return wanted if isinstance(wanted, int) and 0 < wanted <= CONTEXT else CONTEXT


def _tool_names(body: Mapping[str, Any]) -> frozenset[str]:
    tools: Sequence[Any] = body.get("tools") or ()
    functions = [tool.get("function", {}) for tool in tools if isinstance(tool, dict)]
    return frozenset(str(function.get("name")) for function in functions)


def _listed() -> dict[str, Any]:
    return {"name": MODEL, "model": MODEL, "size": 0, "details": {"family": "a scripted guide"}}


def _shown() -> dict[str, Any]:
    return {
        "details": {"family": "a scripted guide"},
        "capabilities": ["completion", "tools", "thinking"],
        "model_info": {"general.architecture": "tour", "tour.context_length": CONTEXT},
    }


def _too_long(tokens: int, context: int) -> str:
    words = f"request ({tokens} tokens) exceeds the available context size ({context} tokens)"
    return json.dumps(
        {
            "error": {
                "code": 400,
                "message": words,
                "type": "exceed_context_size_error",
                "n_prompt_tokens": tokens,
                "n_ctx": context,
            }
        }
    )


def _tokens(data: bytes) -> int:
    return -(-len(data) // _BYTES_PER_TOKEN)


def _shared(prompt: bytes, before: bytes) -> bytes:
    """What two prompts have in common from their start."""
    low, high = 0, min(len(prompt), len(before))
    while low < high:
        middle = (low + high + 1) // 2
        if prompt[:middle] == before[:middle]:
            low = middle
        else:
            high = middle - 1
    return prompt[:low]


def _nanoseconds(seconds: float) -> int:
    return int(seconds * _NANOSECONDS)


def _call_id(turn: Turn, index: int) -> str:
    """The same for the same turn: the tour repeats itself to the letter."""
    return "call_" + hashlib.sha256(f"{index} {turn.text}".encode()).hexdigest()[:8]
