"""The Anthropic Messages protocol: a request to bytes, and what a refusal points at (PRV-3, PRV-5,
PRV-16). How rows become messages stands in `anthropic_messages.py`.
"""

import re
from collections.abc import Mapping, Sequence

from nodwyn_tui.domain.canonical import plain
from nodwyn_tui.domain.events import ModelRef, Parameters
from nodwyn_tui.domain.recipe import KeepReasoning
from nodwyn_tui.domain.request import Json, Request
from nodwyn_tui.errors import ProviderError
from nodwyn_tui.providers.anthropic_messages import Messages, may_think
from nodwyn_tui.providers.anthropic_stream import AnthropicDecoder
from nodwyn_tui.providers.anthropic_thinking import OFF, asked, effective, has_budget
from nodwyn_tui.providers.base import Decoder, Framing, WireRequest
from nodwyn_tui.providers.body import WireMessage
from nodwyn_tui.providers.images import Pixels, no_pixels
from nodwyn_tui.providers.marks import CACHE_CONTROL
from nodwyn_tui.providers.session_key import session_headers

API_VERSION = "2026-10-21"
"""The version of the protocol that is spoken where a server's `api_version` names no other."""

BINDING_BETA = "thinking-binding-controls-2026-08-01"
"""The beta of `thinking.block_binding`."""

SILENT = (
    "With a budget of thinking a run must have begun with it. This one goes on without: the model"
    " thinks again after your next message."
)


class Anthropic:
    """`POST /v1/messages`, SSE."""

    name = "anthropic"
    framing: Framing = "sse"

    def __init__(self) -> None:
        self._messages = Messages()

    def encode(
        self,
        request: Request,
        model: ModelRef,
        parameters: Parameters,
        pixels: Pixels = no_pixels,
    ) -> WireRequest:
        """The request's body, messages last. Sampling parameters are never in it."""
        cached = parameters.cache_control or ""
        cached = cached if cached in CACHE_CONTROL else ""
        system = _system(request.system)
        tools = [_tool(tool.name, tool.description, tool.parameters) for tool in request.tools]
        if cached and (head := system or tools):
            # The end of what never changes in a session: tools, then the system prompt.
            head[-1]["cache_control"] = dict(CACHE_CONTROL[cached])
        effort = effective(parameters.effort, request.max_output)
        keeps = parameters.keep_reasoning if effort not in OFF else False
        messages = self._conversation(
            request, pixels, model.origin, keeps, cached, parameters.markers(0)
        )
        without = ""
        if has_budget(effort) and not may_think(messages):
            # A loop that can't begin with its thinking goes on without any (C14).
            effort, keeps, without = "off", False, SILENT
            messages = self._conversation(
                request, pixels, model.origin, keeps, cached, parameters.markers(0)
            )
        body: dict[str, Json] = {
            "model": model.id,
            "max_tokens": request.max_output,
            "stream": True,
            **asked(effort, keeps=bool(keeps)),
        }
        if system:
            body["system"] = system
        if tools:
            body["tools"] = tools
        body["messages"] = messages
        beta = {"anthropic-beta": BINDING_BETA} if keeps else {}
        return WireRequest(
            path="/v1/messages",
            body=body,
            headers={**beta, **session_headers(parameters)},
            without=without,
        )

    def _conversation(
        self,
        request: Request,
        pixels: Pixels,
        origin: str,
        keeps: KeepReasoning,
        cached: str,
        told: tuple[int, int] | None,
    ) -> list[WireMessage]:
        """The messages. A request that switches thinking off takes none along."""
        return self._messages.of(
            request.messages,
            origin if keeps else "",
            cached,
            pixels,
            only_latest=keeps == "latest",
            told=told,
        )

    def decoder(self, model: ModelRef) -> Decoder:
        """A decoder of one reply, whose blocks belong to the model."""
        return AnthropicDecoder(model.origin)

    def remedy(self, error: ProviderError, wire: WireRequest) -> str:
        """The setting behind a refusal, by what its words name and what was asked."""
        if error.kind not in _EXPLAINED:
            return ""
        words = f"{error.message} {error.detail}"
        if wire.body["thinking"]["type"] == "enabled" and _BUDGET.search(words):
            return _NO_BUDGET
        return next((remedy for pattern, remedy in _REMEDIES if pattern.search(words)), "")


def _system(text: str) -> list[dict[str, Json]]:
    return [{"type": "text", "text": text}] if text.strip() else []


def _tool(name: str, description: str, parameters: Mapping[str, Json]) -> dict[str, Json]:
    return {"name": name, "description": description, "input_schema": plain(parameters)}


_EXPLAINED = frozenset({"invalid_request", "authentication", "not_found", "permission"})

_NOT_ADAPTIVE = (
    'Set effort to a number of tokens to think with, as in effort = "4096", or effort = "off", for'
    " this model"
)
_NO_BUDGET = 'Set effort = "low", "medium" or "high" for this model, in place of a number'
_BUDGET = re.compile(r"thinking\.(?:type\.)?enabled|budget_tokens|enabled thinking", re.IGNORECASE)
"""What a refusal of a budget names."""

_REMEDIES: Sequence[tuple[re.Pattern[str], str]] = tuple(
    (re.compile(pattern, re.IGNORECASE), remedy)
    for pattern, remedy in (
        (r"credit balance", "Add credit at the provider, or pick another model with /model"),
        (
            r"x-api-key|bearer token|authorization header",
            "Check the key that the server's credential names; some servers want"
            ' auth = "x-api-key", others "bearer", in their entry',
        ),
        (r"anthropic-version", "Set api_version in the server's entry to one that it knows"),
        (
            r"block_binding|thinking-binding|signature|redacted_thinking"
            r"|expected .?thinking|thinking.{0,3} blocks?\b",
            "Set keep_reasoning = false for this model",
        ),
        (
            r"between_tools",
            'Remove effort, or set effort = "low" for this model',
        ),
        (
            r"thinking\S* .{0,20}disabled|disabled.{0,60}(?:thinking|not supported)",
            'This model always thinks: set effort = "low", or "between_tools"',
        ),
        (r"adaptive|thinking\.(?:type|display)", _NOT_ADAPTIVE),
        (r"output_config|effort", "Remove effort, or change it"),
        (r"\bthinking\b", _NOT_ADAPTIVE),
        (r"cache_control|\bttl\b", 'Set cache_control = "off" for this model'),
        (r"max_tokens", "Set max_output lower for this model"),
        (r"support (?:tools|tool use)", "Pick a model that can call tools"),
        (
            r"^model:|\bmodel\b.{0,40}not (?:found|exist)",
            "Check the model's id; /model lists what servers offer",
        ),
    )
)
"""What a refusal's words point at, the most telling first."""
