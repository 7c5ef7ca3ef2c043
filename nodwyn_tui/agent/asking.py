"""One answer from the model: the request recorded before it is sent, streamed, recorded, and asked
again only where that is allowed (PRV-8, PRV-9, ENG-14).
"""

import asyncio
import random
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from nodwyn_tui.agent.conversation import Conversation, Emit
from nodwyn_tui.agent.target import Target
from nodwyn_tui.domain import events as ev
from nodwyn_tui.domain.deltas import Alive, CallDelta, Delta, Reply, TextDelta, ThinkingDelta
from nodwyn_tui.domain.parts import Call, ReplyPart
from nodwyn_tui.errors import BlockedError, ProviderError
from nodwyn_tui.link import events as up
from nodwyn_tui.providers import retry
from nodwyn_tui.providers.exchange import Exchange
from nodwyn_tui.system.clock import Clock
from nodwyn_tui.window.build import ORDINARY, Shape, Window

_SAFE_ID = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")


@dataclass(frozen=True, slots=True)
class Answer:
    """A reply as recorded, its calls, and the calls' arguments as the model wrote them."""

    response: ev.LlmResponse
    calls: tuple[ev.ToolCall, ...]
    originals: dict[str, str]


class Asker:
    """Asks the model once a step."""

    def __init__(
        self, conversation: Conversation, target: Target, emit: Emit, clock: Clock
    ) -> None:
        self._conversation, self._target = conversation, target
        self._emit, self._clock = emit, clock

    async def ask(self) -> Answer:
        """The model's next answer.

        Raises `ProviderError` where the server refused or failed for good, `BlockedError` where no
        request can be made that fits, `StoreError` where the request could not be recorded.
        """
        shape, failures = self._preflight(), Counter[str]()
        while True:
            try:
                return await self._once(shape)
            except ProviderError as error:
                failures[error.kind] += 1
                if error.kind == "context_exceeded" and failures[error.kind] == 1:
                    line = self._conversation.window().estimate * 3 // 4
                    shape = self._forced_trim(line, error.message)
                    continue
                delay = retry.delay(error, failures[error.kind], random.random())
                if delay is None:
                    raise
                self._emit(
                    up.RetryWaiting(
                        seconds=delay, reason=error.message, attempt=failures[error.kind]
                    )
                )
                await asyncio.sleep(delay)

    def _preflight(self) -> Shape:
        """The shape of a request that fits: with a trim line of its own where the estimate, set
        right by what this server reported for earlier prompts, is over the ceiling.
        """
        window = self._conversation.window()
        ceiling = self._conversation.ruling.window.ceiling
        likely = window.estimate * self._calibration()
        if likely <= ceiling:
            return ORDINARY
        line = int(window.estimate * ceiling / likely)
        return self._forced_trim(line, f"about {likely:,.0f} tokens where {ceiling:,} may be sent")

    def _calibration(self) -> float:
        """This server's count of a prompt over our estimate of it, at most so far; 1.0 unknown."""
        requests = {
            event.seq: event
            for event in self._conversation.events
            if isinstance(event, ev.LlmRequest) and event.model.origin == self._target.ref.origin
        }
        ratios = [
            event.usage.prompt_tokens / requests[event.req].estimate
            for event in self._conversation.events
            if isinstance(event, ev.LlmResponse)
            and event.req in requests
            and event.usage.prompt_tokens
        ]
        return max(ratios, default=1.0)

    def _forced_trim(self, line: int, reason: str) -> Shape:
        """A lower trim line for one request; blocked where nothing is left to trim (ENG-14)."""
        shape = Shape(high_water=line)
        before, trimmed = self._conversation.window(), self._conversation.window(shape)
        if trimmed.estimate >= before.estimate and not before.newly:
            raise self._blocked(before, reason)
        return shape

    def _blocked(self, window: Window, reason: str) -> BlockedError:
        recipe = self._conversation.ruling
        figures = {
            "estimate": window.estimate,
            "fixed": window.fixed,
            "ceiling": recipe.window.ceiling,
            "context": recipe.num_ctx,
        }
        remedies = (
            "/clear starts a new window in this session",
            "/model picks a model with a larger context",
            "a larger context can be set in the model's entry of config.toml",
        )
        self._conversation.append(
            ev.BudgetBlocked(reason=reason, figures=figures, remedies=remedies)
        )
        return BlockedError(f"the request does not fit and nothing is left to trim: {reason}")

    async def _once(self, shape: Shape) -> Answer:
        """One request on the wire, recorded before it is sent and when it ends."""
        conversation, target = self._conversation, self._target
        window = conversation.window(shape)
        prediction = conversation.predict(window, target)
        request, *_ = conversation.append(
            ev.LlmRequest(
                model=target.ref,
                parameters=target.parameters,
                digest=window.digest,
                estimate=window.estimate,
                elided=window.newly,
                high_water=shape.high_water,
                predicted_cached=prediction.cached,
                prefix_ended_by=prediction.ended_by,
            ),
            must=True,
        )
        assert isinstance(request, ev.LlmRequest), "the log gives back what it was given"
        conversation.sent(request, window)
        self._emit(up.RequestSent(seq=request.seq, model=target.ref.name))
        self._emit(conversation.meter(target, window))
        began, first = self._clock.monotonic(), None
        exchange = target.provider.stream(window.request, target.ref, target.parameters)
        try:
            async with exchange:
                async for delta in exchange:
                    if first is None and not isinstance(delta, Alive):
                        first = self._ms_since(began)
                    self._show(delta)
            reply = exchange.reply
        except asyncio.CancelledError:
            self._interrupted(exchange, request, began, first)
            raise
        except ProviderError as error:
            self._failed(exchange, request, error)
            raise
        return self._recorded(reply, request, first, self._ms_since(began))

    def _show(self, delta: Delta) -> None:
        match delta:
            case TextDelta(text):
                self._emit(up.ReplyPiece(kind="text", text=text))
            case ThinkingDelta(text):
                self._emit(up.ReplyPiece(kind="thinking", text=text))
            case CallDelta(index, name, chars):
                self._emit(up.CallPiece(index=index, name=name, chars=chars))
            case Alive():
                pass

    def _interrupted(
        self, exchange: Exchange, request: ev.LlmRequest, began: float, first: int | None
    ) -> None:
        """What had come is kept and marked; half-made calls are not (AGT-3)."""
        reply = exchange.interrupted()
        kept = tuple(part for part in reply.parts if not isinstance(part, Call))
        self._recorded(
            replace(reply, parts=kept, finish="interrupted"), request, first, self._ms_since(began)
        )

    def _failed(self, exchange: Exchange, request: ev.LlmRequest, error: ProviderError) -> None:
        partial = exchange.partial()
        self._conversation.append(
            ev.LlmError(
                req=request.seq,
                kind=error.kind,
                status=error.status,
                message=error.message,
                partial=partial,
            )
        )
        self._emit(up.ReplyEnded(seq=request.seq, partial=partial))

    def _recorded(
        self, reply: Reply, request: ev.LlmRequest, first: int | None, took: int
    ) -> Answer:
        conversation = self._conversation
        seq = conversation.log.next_seq
        parts, originals = own_ids(reply.parts, conversation.call_ids(), seq)
        calls = [part for part in parts if isinstance(part, Call)]
        recorded = conversation.append(
            ev.LlmResponse(
                req=request.seq,
                parts=parts,
                thinking_field=reply.thinking_field,
                finish=reply.finish,
                usage=reply.usage,
                first_token_ms=first,
                ms=took,
            ),
            *(
                ev.ToolCall(resp=seq, call_id=call.id, name=call.name, arguments=call.arguments)
                for call in calls
            ),
        )
        self._emit(up.ReplyEnded(seq=request.seq))
        response = next(event for event in recorded if isinstance(event, ev.LlmResponse))
        made = tuple(event for event in recorded if isinstance(event, ev.ToolCall))
        return Answer(response, made, originals)

    def _ms_since(self, began: float) -> int:
        return round((self._clock.monotonic() - began) * 1000)


def own_ids(
    parts: Sequence[ReplyPart], used: frozenset[str], seq: int
) -> tuple[tuple[ReplyPart, ...], dict[str, str]]:
    """A reply's parts with call ids unique in the session, and each call's arguments by id.

    A provider's id is kept where it is whole and new; else one is made from the reply's seq, which
    a resume finds again in the log (C29, C30).
    """
    taken, made, originals = set(used), [], {}
    for number, part in enumerate(parts):
        if isinstance(part, Call):
            kept = part.id not in taken and _SAFE_ID.match(part.id) is not None
            own = part.id if kept else f"call_{seq}_{number}"
            part = replace(part, id=own, provider_id=None if kept else part.id)  # noqa: PLW2901 - the same part under its own id
            taken.add(own)
            originals[own] = part.arguments
        made.append(part)
    return tuple(made), originals
