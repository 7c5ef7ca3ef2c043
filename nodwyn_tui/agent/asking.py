"""One answer from the model: the request recorded before it is sent, streamed, recorded, and asked
again only where that is allowed (PRV-8, PRV-9, ENG-14).
"""

import asyncio
import random
from collections import Counter
from dataclasses import dataclass, replace

from nodwyn_tui.agent import refusals, spend
from nodwyn_tui.agent.call_ids import own_ids
from nodwyn_tui.agent.conversation import Emit
from nodwyn_tui.agent.fitting import Fitting
from nodwyn_tui.agent.folding import folded
from nodwyn_tui.agent.parts import Parts
from nodwyn_tui.agent.prompt_remarks import Remark, remarks
from nodwyn_tui.agent.reasoning import REASONING, LoopWatch
from nodwyn_tui.domain import events as ev
from nodwyn_tui.domain.deltas import Alive, CallDelta, Delta, Reply, TextDelta, ThinkingDelta
from nodwyn_tui.domain.parts import Call
from nodwyn_tui.errors import ProviderError
from nodwyn_tui.link import events as up
from nodwyn_tui.providers import retry
from nodwyn_tui.providers.exchange import Exchange
from nodwyn_tui.store.redact import has_marker
from nodwyn_tui.window.build import Shape, Window
from nodwyn_tui.window.prefix import Prediction


@dataclass(frozen=True, slots=True)
class Answer:
    """A reply as recorded, its calls, and the calls' arguments as the model wrote them, by id."""

    response: ev.LlmResponse
    calls: tuple[ev.ToolCall, ...]
    originals: dict[str, str]


@dataclass(slots=True)
class _Sending:
    """A request on its way: when it began, and the milliseconds to its first word."""

    exchange: Exchange
    request: ev.LlmRequest
    prediction: Prediction
    began: float
    first_ms: int | None = None


class Asker:
    """Asks the model once a step, or for a handover note."""

    def __init__(self, parts: Parts, emit: Emit) -> None:
        self._conversation, self.target = parts.conversation, parts.target
        self._emit, self._clock = emit, parts.clock
        self._fresh, self._rollover = parts.fresh, parts.rollover
        self._counting = parts.counting
        self._loop = LoopWatch()

    @property
    def fit(self) -> Fitting:
        """What of the conversation fits a request to the model."""
        return Fitting(self._conversation, self.target, self._counting)

    async def ask(self, purpose: ev.Purpose = "turn") -> Answer:
        """The model's next answer. A request for a handover note may pass high water, up to the
        ceiling (recipe 10).

        Raises `ProviderError` where the server refused or failed for good, `BlockedError` where no
        request can be made that fits, `StoreError` where the request could not be recorded.
        """
        try:
            return await self._ask(purpose)
        finally:
            self._conversation.sight.trust()

    async def _ask(self, purpose: ev.Purpose) -> Answer:
        await self._look()
        if purpose == "turn":
            self._fresh.prepare()
        else:
            self._conversation.fresh = ()  # a note is asked for behind the history alone
        await self.fit.prepare()
        shape, window = self._fitting(purpose)
        failures = Counter[str]()
        while True:
            sending = self._record(shape, window, purpose)
            try:
                answer = await self._stream(sending)
            except ProviderError as error:
                failures[error.kind] += 1
                if self._spares_images(sending, window, error):
                    await self._look()
                    shape, window = self._fitting(purpose)
                    continue
                if error.kind == "context_exceeded":
                    first = failures[error.kind] == 1
                    shape, window = await self._rescued(sending, window, error, again=first)
                    continue
                delay = retry.delay(error, failures[error.kind], random.random())
                self._failed(sending, error, delay)
                if delay is None:
                    raise
                again = up.RetryWaiting(
                    seconds=delay, reason=error.message, attempt=failures[error.kind]
                )
                self._emit(again)
                await asyncio.sleep(delay)
            else:
                self._emit(self._conversation.meter(self.target, window))
                return answer

    async def _look(self) -> None:
        """Settles which images the next request carries, and tells where that changed."""
        conversation = self._conversation
        if not conversation.sight.has_images:
            return
        window = conversation.window()
        newly = set(window.newly)  # a trim that is due may turn out not to be needed
        shown = {entry.seq for entry in window.entries} | newly
        hidden = (window.elided - newly) | window.dropped
        await conversation.sight.look(self.target, shown - hidden)
        if news := conversation.sight.news(self.target):
            self._emit(news)

    def _spares_images(self, sending: _Sending, window: Window, error: ProviderError) -> bool:
        """Whether a refused request is sent again without images that may be why (C36, C45): first
        without those that this model never took, then without any.
        """
        spared = refusals.spared(self._conversation.sight, self.target, window, error)
        if not spared:
            return False
        self._failed(sending, error, 0.0)
        text = refusals.told(self._conversation.sight, self.target, spared, error)
        self._conversation.append(ev.Note(text=text, audience="person", why=refusals.REFUSED))
        self._conversation.sight.doubt(spared)
        return True

    def _fitting(self, purpose: ev.Purpose) -> tuple[Shape, Window]:
        """The request that fits, with what is due to be folded."""
        return self._folded(purpose, *self.fit.request(purpose))

    async def _rescued(
        self, sending: _Sending, before: Window, error: ProviderError, *, again: bool
    ) -> tuple[Shape, Window]:
        """The request that goes `again`, once, where the provider refused it for its size: in a new
        window (ROL-7), or a smaller one (ENG-14).
        """
        purpose = sending.request.purpose
        if purpose == "turn" and self._rollover.active:
            self._leave(sending, error, again=again)
            await self._look()
            self._fresh.prepare()
            return self._fitting(purpose)
        smaller = self.fit.smaller(before) if again else None
        self._failed(sending, error, None if smaller is None else 0.0)
        if smaller is None:
            raise self.fit.blocked(before, error.message, purpose)
        return self._folded(purpose, *smaller)

    def _leave(self, sending: _Sending, error: ProviderError, *, again: bool) -> None:
        """Goes on in a new window. Raises the error where this one may not be left, or text had
        come already.
        """
        opens = self._rollover.refused(self.fit) if again and not sending.exchange.partial() else ()
        blocked = isinstance(opens, ev.BudgetBlocked)
        self._failed(sending, error, 0.0 if opens and not blocked else None)
        if isinstance(opens, ev.BudgetBlocked):
            self._rollover.stop(opens)
        elif not opens:
            raise error
        else:
            self._conversation.append(*opens, must=True)

    def _folded(self, purpose: ev.Purpose, shape: Shape, window: Window) -> tuple[Shape, Window]:
        """The request with what is due to be folded (ENG-21); a note is asked for as all stands,
        and a window that is left for another is not folded either.
        """
        if purpose != "turn" or self._rollover.active:
            return shape, window
        return folded(self._conversation, self.target, shape, window, self._clock.now())

    def _record(self, shape: Shape, window: Window, purpose: ev.Purpose) -> _Sending:
        """The request in the log, before a byte of it is sent (ENG-24)."""
        conversation, target = self._conversation, self.target
        # Encoded first: a setting that the dialect refuses must leave no request behind.
        parameters = replace(target.parameters, history=window.history, former=window.former)
        exchange = target.provider.stream(
            window.request, target.ref, parameters, conversation.sight.pixels
        )
        gone = self._loop.stale(window.entries, target.ref.server)
        # Where only the latest reply's goes back, an earlier one's leaves as it should.
        if gone and conversation.recipe.keep_reasoning != "latest":
            conversation.append(ev.Note(text=gone, audience="person", why=REASONING))
        if without := self._loop.news(exchange.without):
            conversation.append(ev.Note(text=without, audience="person", why=REASONING))
        prediction, prompt = conversation.forecast.predict(window, target, shape, self._clock.now())
        request, *_ = conversation.append(
            ev.LlmRequest(
                purpose=purpose,
                model=target.ref,
                parameters=parameters,
                digest=window.digest,
                estimate=window.estimate,
                elided=window.newly,
                high_water=shape.high_water,
                withheld_images=tuple(
                    ev.WithheldImage(sha256=sha, reason=why) for sha, why in shape.withheld.items()
                ),
                fresh=shape.fresh if window.bare else (),
                predicted_cached=prediction.cached,
                prefix_ended_by=prediction.ended_by,
            ),
            must=True,
        )
        assert isinstance(request, ev.LlmRequest), "the log gives back what it was given"
        conversation.forecast.sent(request, prompt)
        self._emit(up.RequestSent(seq=request.seq, model=target.ref.name, purpose=purpose))
        self._emit(conversation.meter(target, window))
        return _Sending(exchange, request, prediction, self._clock.monotonic())

    async def _stream(self, sending: _Sending) -> Answer:
        exchange = sending.exchange
        try:
            async with exchange:
                async for delta in exchange:
                    if sending.first_ms is None and not isinstance(delta, Alive):
                        sending.first_ms = self._ms_since(sending.began)
                    self._show(delta)
        except asyncio.CancelledError:
            self._interrupted(sending)
            raise
        return self._recorded(sending, exchange.reply)

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

    def _interrupted(self, sending: _Sending) -> None:
        """What had come is kept and marked; half-made calls are not (AGT-3)."""
        reply = sending.exchange.interrupted()
        kept = tuple(part for part in reply.parts if not isinstance(part, Call))
        self._recorded(sending, replace(reply, parts=kept, finish="interrupted"))

    def _failed(self, sending: _Sending, error: ProviderError, delay: float | None) -> None:
        """Records a failure, with the seconds after which it is asked again, if it is."""
        partial = sending.exchange.partial()
        last = delay is None and error.kind != "context_exceeded"  # of that one more is told
        self._conversation.append(
            ev.LlmError(
                req=sending.request.seq,
                kind=error.kind,
                status=error.status,
                message=error.message,
                retry_in_s=delay,
                partial=partial,
                detail=error.detail if error.detail.strip() != error.message else None,
                remedy=error.remedy if last and error.remedy else None,
            )
        )
        self._emit(up.ReplyEnded(seq=sending.request.seq, partial=partial))

    def _recorded(self, sending: _Sending, reply: Reply) -> Answer:
        """The reply and its calls, in one write."""
        conversation = self._conversation
        seq = conversation.log.next_seq
        parts, originals = own_ids(reply.parts, conversation.knows_call, seq)
        recorded = conversation.append(
            ev.LlmResponse(
                req=sending.request.seq,
                parts=parts,
                thinking_field=reply.thinking_field,
                finish=reply.finish,
                usage=spend.priced(reply.usage, self.target.price, self._clock.now()),
                first_token_ms=sending.first_ms,
                ms=self._ms_since(sending.began),
            ),
            *(
                ev.ToolCall(resp=seq, call_id=part.id, name=part.name, arguments=part.arguments)
                for part in parts
                if isinstance(part, Call)
            ),
        )
        self._emit(up.ReplyEnded(seq=sending.request.seq))
        for remark in remarks(sending.prediction, reply, self.target.ref):
            self._tell(remark)
        response = next(event for event in recorded if isinstance(event, ev.LlmResponse))
        made = tuple(event for event in recorded if isinstance(event, ev.ToolCall))
        # From now on the model sees its own call with a marker in the secret's place.
        conversation.markers |= any(
            call.arguments != originals[call.call_id] and has_marker(call.arguments)
            for call in made
        )
        return Answer(response, made, originals)

    def _tell(self, remark: Remark) -> None:
        """Tells the person, some things only once."""
        told = self._conversation.told
        if remark.once not in told:
            told.update({remark.once} - {""})
            note = ev.Note(text=remark.text, audience="person", why=remark.why)
            self._conversation.append(note)

    def _ms_since(self, began: float) -> int:
        return round((self._clock.monotonic() - began) * 1000)
