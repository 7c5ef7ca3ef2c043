"""The Anthropic Messages protocol: a request to bytes, and what a refusal points at (PRV-3, PRV-5,
PRV-16). How rows become messages stands in `anthropic_messages.py`.
"""

import re
from collections.abc import Mapping, Sequence

from nodwyn_tui.domain.canonical import plain
from nodwyn_tui.domain.events import ModelRef, Parameters
from nodwyn_tui.domain.request import Json, Request
from nodwyn_tui.errors import ProviderError
from nodwyn_tui.providers.anthropic_messages import Messages
from nodwyn_tui.providers.anthropic_stream import AnthropicDecoder
from nodwyn_tui.providers.base import Decoder, Framing, WireRequest
from nodwyn_tui.providers.marks import CACHE_CONTROL
from nodwyn_tui.providers.session_key import session_headers

API_VERSION = "2026-10-21"
"""The version of the protocol that is spoken where a server's `api_version` names no other."""

BINDING_BETA = "thinking-binding-controls-2026-08-01"
"""The beta of `thinking.block_binding`."""

OFF = {"off": "disabled", "between_tools": "between_tools"}
"""The values of `effort` that switch thinking off, and what the protocol calls it."""


class Anthropic:
    """`POST /v1/messages`, SSE."""

    name = "anthropic"
    framing: Framing = "sse"

    def __init__(self) -> None:
        self._messages = Messages()

    def encode(self, request: Request, model: ModelRef, parameters: Parameters) -> WireRequest:
        """The request's body, messages last. Sampling parameters are never in it."""
        cached = parameters.cache_control or ""
        cached = cached if cached in CACHE_CONTROL else ""
        system = _system(request.system)
        tools = [_tool(tool.name, tool.description, tool.parameters) for tool in request.tools]
        if cached and (head := system or tools):
            # The end of what never changes in a session: tools, then the system prompt.
            head[-1]["cache_control"] = dict(CACHE_CONTROL[cached])
        keeps = parameters.keep_reasoning if parameters.effort not in OFF else False
        body: dict[str, Json] = {
            "model": model.id,
            "max_tokens": request.max_output,
            "stream": True,
            **_thinking(parameters.effort, keeps=bool(keeps)),
        }
        if system:
            body["system"] = system
        if tools:
            body["tools"] = tools
        body["messages"] = self._messages.of(
            request.messages,
            # A request that switches thinking off takes none along.
            model.origin if keeps else "",
            cached,
            only_latest=keeps == "latest",
        )
        beta = {"anthropic-beta": BINDING_BETA} if keeps else {}
        return WireRequest(
            path="/v1/messages", body=body, headers={**beta, **session_headers(parameters)}
        )

    def decoder(self, model: ModelRef) -> Decoder:
        """A decoder of one reply, whose blocks belong to the model."""
        return AnthropicDecoder(model.origin)

    def remedy(self, error: ProviderError, wire: WireRequest) -> str:  # noqa: ARG002 - others'
        """The setting behind a refusal, by what its words name."""
        if error.kind not in _EXPLAINED:
            return ""
        words = f"{error.message} {error.detail}"
        return next((remedy for pattern, remedy in _REMEDIES if pattern.search(words)), "")


def _thinking(effort: str | None, *, keeps: bool) -> dict[str, Json]:
    """The same in every request of a session: another ask would miss the cache (PRV-5)."""
    if effort in OFF:
        return {"thinking": {"type": OFF[effort]}}
    thinking: dict[str, Json] = {"type": "adaptive", "display": "summarized"}
    if keeps:
        # A block that the window's own rule missed is dropped then, and fails no request.
        thinking["block_binding"] = {"prefix_mismatch_behavior": "drop_block"}
    return {"thinking": thinking, **({"output_config": {"effort": effort}} if effort else {})}


def _system(text: str) -> list[dict[str, Json]]:
    return [{"type": "text", "text": text}] if text.strip() else []


def _tool(name: str, description: str, parameters: Mapping[str, Json]) -> dict[str, Json]:
    return {"name": name, "description": description, "input_schema": plain(parameters)}


_EXPLAINED = frozenset({"invalid_request", "authentication", "not_found", "permission"})

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
        (r"adaptive|thinking\.(?:type|display)", 'Set effort = "off" for this model'),
        (r"output_config|effort", "Remove effort, or change it"),
        (r"\bthinking\b", 'Set effort = "off" for this model'),
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
