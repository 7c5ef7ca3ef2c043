"""A session that leaves its windows for new ones, in a re-fold: where `window/budget.py` says so of
the recorded events, with the rows of `window/lead_in.py` (ROL-1 to ROL-5).
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil

from nodwyn_tui.domain.events import (
    AttachImage,
    ContextOpen,
    Event,
    LlmError,
    LlmRequest,
    LlmResponse,
    ResultFold,
    SessionRecipe,
    SessionResume,
    SessionStart,
    ToolCall,
    ToolResult,
    UserMessage,
    WindowEdit,
    WindowLeadIn,
    WindowReset,
    WindowRewind,
)
from nodwyn_tui.domain.parts import Call
from nodwyn_tui.domain.recipe import Recipe
from nodwyn_tui.domain.request import AssistantRow
from nodwyn_tui.errors import ReplayError
from nodwyn_tui.lab.orders import Orders
from nodwyn_tui.lab.policies import LabPolicy
from nodwyn_tui.lab.rollovers import MEMORY, Along, Recorded, notes_in
from nodwyn_tui.lab.sessions import AnyEvent, Refolded, Session
from nodwyn_tui.window import lead_in
from nodwyn_tui.window.budget import Blocked, Budget, Reason, RollOver, Warn
from nodwyn_tui.window.build import ENDLESS, UNTRIMMED, Shape, Window
from nodwyn_tui.window.contexts import CONVERSATION
from nodwyn_tui.window.entries import BYTES_PER_TOKEN, message_tokens
from nodwyn_tui.window.folds import BY_HAND
from nodwyn_tui.window.policy import policy_for
from nodwyn_tui.window.quoting import naming
from nodwyn_tui.window.sequence import EACH_REQUEST

WROTE = "wrote context-notes"
ENDS = "under rollover the session ends before the request at seq {seq}: {why}"
NO_RESETS = "recipe version {version} knows no windows that begin anew, so nothing rolls over in it"

SETTLING = (
    ContextOpen, LlmResponse, SessionRecipe, SessionResume, SessionStart, WindowEdit, WindowReset,
    WindowRewind,
)  # fmt: skip
"""Lines beyond which a message does not wait for the request that it is sent with."""


@dataclass(frozen=True, slots=True)
class _Sent:
    """A request as recorded, and its estimate under the policy; `alike`: it is the very same."""

    recorded: LlmRequest
    estimate: int
    alike: bool


class RollingOver(Session):
    """Decides as a session does: on send with the new message, after a settled step, and where the
    provider refuses a prompt for its length. A message waits for the request that it is sent with,
    since its window may be left in front of it. Where the model is warned and was not when the
    session was recorded, it is assumed to write `notes`, and to go on.
    """

    def __init__(self, policy: LabPolicy, notes: str) -> None:
        self._orders: Orders
        super().__init__(policy, Orders(policy.order))
        self._assumed = notes
        self._recorded, self._budget = Recorded(), Budget()
        self._held: list[Event] = []
        """A message and what came behind it, until its request."""
        self._gone: list[int] = []
        """The seqs of recorded rollovers' rows since the last request."""
        self._began: UserMessage | None = None
        """The run's message."""
        self._along = Along()
        self._replied = self._settled = self._refused = False
        """Whether the run has a reply; whether a step came to its end on which nothing was decided
        yet; whether the last request was refused for its length.
        """
        self._notes, self._notes_recorded = "", False
        self._rolled = False
        """Whether the session was recorded under this strategy, which shows notes itself."""
        self._sent: dict[int, _Sent] = {}
        self._share: dict[str, float] = {}
        """The server's count over the estimate at most so far, by origin (PRV-7)."""
        self._floor = 0

    def take(self, event: Event) -> None:
        """See `Session`."""
        if self._recorded.takes(event):
            self._gone.append(event.seq)
            return
        if isinstance(event, SETTLING):
            self._settle(None)
        if (had := self._had(event)) is None:
            return
        if self._held or _is_said(had):
            self._held.append(had)
        else:
            self._add(self._placed(had))

    def before(self, recorded: LlmRequest) -> Iterator[Refolded]:
        """Leaves the window where that is due, or warns; and the request for the notes then."""
        if recorded.ctx != CONVERSATION:
            return
        decided = self._settle(recorded)
        if self._refused:
            decided = self._decide("context-exceeded", self._asked_again(), recorded)
        elif self._settled:
            decided = self._decide("mid-run", (), recorded)
        self._settled = self._refused = False
        if decided and not self._gone and self._takes_notes:
            yield self._writing_notes(recorded)

    def window(self, recorded: LlmRequest) -> Window:
        """See `Session`."""
        window = super().window(recorded)
        alike = window.digest == recorded.digest
        self._sent[recorded.seq] = _Sent(recorded, window.estimate, alike)
        self._gone.clear()
        return window

    def _had(self, event: Event) -> Event | None:
        match event:
            case ResultFold() if event.why != BY_HAND:
                return None  # a window that is left for another is not folded
            case SessionStart() | SessionResume() | SessionRecipe():
                self._rolled = event.recipe.strategy == "rollover"
            case LlmError(kind="context_exceeded") if event.req in self._sent:
                sent = self._sent[event.req]
                self._refused = not event.partial and sent.estimate >= sent.recorded.estimate
            case LlmResponse() if event.ctx == CONVERSATION:
                event = self._reported(event)
                self._replied = self._settled = True
            case ToolCall() if notes := notes_in(event):
                self._notes, self._notes_recorded = notes, True
            case _:
                pass
        return super()._had(event)

    def _reported(self, reply: LlmResponse) -> LlmResponse:
        """A reply whose server counted the prompt that the policy would have sent."""
        sent, counted = self._sent.get(reply.req), reply.usage.prompt_tokens
        if sent is None or not counted:
            return reply
        origin = sent.recorded.model.origin
        ratio = min(counted / max(sent.recorded.estimate, 1), BYTES_PER_TOKEN)
        self._share[origin] = max(self._share.get(origin, 0.0), ratio)
        if sent.alike:
            return reply
        return replace(
            reply, usage=replace(reply.usage, prompt_tokens=round(sent.estimate * ratio))
        )

    def _shape(self, recorded: LlmRequest) -> Shape:
        return replace(super()._shape(recorded), high_water=ENDLESS)

    def _placed(self, event: AnyEvent) -> AnyEvent:
        """A rewind ends behind the lead-in: what lies before it could not have been taken back."""
        if isinstance(event, WindowRewind):
            return replace(event, to=max(event.to, self._floor))
        return event

    def _add(self, event: Event) -> None:
        if isinstance(event, UserMessage) and event.starts_run:
            self._began, self._replied = event, False
        self._along.feed(event)
        self._budget.feed(event)
        super()._add(event)

    def _settle(self, recorded: LlmRequest | None) -> bool:
        """Appends what waits, message by message, each behind what is due in front of it; whether a
        warning was.
        """
        held, self._held = self._held, []
        warned = False
        while held:
            message = held.pop(0)
            said = [message]
            while held and isinstance(held[0], AttachImage):
                said.append(held.pop(0))
            on_send = isinstance(message, UserMessage) and message.starts_run
            warned |= self._decide("on-send" if on_send else "mid-run", said, recorded)
            self._settled = False
            while held and not _is_said(held[0]):
                self._add(self._placed(held.pop(0)))
        return warned

    def _decide(self, reason: Reason, said: Sequence[Event], recorded: LlmRequest | None) -> bool:
        """Appends what is said, behind a warning or what opens a new window where either is due;
        whether it was a warning.
        """
        recipe, end = self._recipe, recorded.seq if recorded else said[-1].seq + 1
        if recipe is None:
            self._put(said, end)
            return False
        again = reason == "context-exceeded"
        window = self._conversation.window(recipe, UNTRIMMED, *(() if again else said))
        over = self._over(window, recorded, recipe.window.ceiling)
        decision = self._budget.decide(reason, window, recipe, counted=over)
        match decision:
            case Blocked():
                raise ReplayError(ENDS.format(seq=end, why=decision.reason))
            case RollOver():
                self._put(self._batch(decision, recipe, said), end)
            case Warn():
                self._put((lead_in.warning(decision, notes=self._takes_notes), *said), end)
            case None:
                self._put(() if again else said, end)
        return isinstance(decision, Warn)

    def _over(self, window: Window, recorded: LlmRequest | None, ceiling: int) -> int:
        """What a request would be counted to have where that is over the ceiling, by what its
        server reported of earlier ones; 0 where it fits.
        """
        if recorded is None:
            return 0
        share = self._share.get(recorded.model.origin, 1.0)
        tokens = ceil(window.estimate * share) + self._orders.tokens(recorded)
        return tokens if tokens > ceiling else 0

    def _batch(self, over: RollOver, recipe: Recipe, said: Sequence[Event]) -> Sequence[Event]:
        """What opens the new window, with the images of what it quotes."""
        if not policy_for(recipe.version).resets:
            raise ReplayError(NO_RESETS.format(version=recipe.version))
        rows_show = self._rolled and recipe.fresh not in ("off", EACH_REQUEST)
        shown = rows_show and self._notes_recorded
        carried, notes = self._carrying.now, "" if shown else self._notes
        trigger = said or (lead_in.CONTINUE,)
        rows = lead_in.batch(over, carried, recipe, trigger, notes, self._along.skills)
        quotes = any(isinstance(row, WindowLeadIn) and row.asked for row in rows)
        images = self._along.images_of(carried.asked, rows) if quotes else []
        gone: list[AttachImage] = []
        whole = (*rows, *images)
        while images and self._tokens(recipe, whole) > recipe.window.low_water:
            gone.append(images.pop(0))
            whole = (*naming(rows, gone), *images)
        return whole

    def _tokens(self, recipe: Recipe, drafts: Sequence[Event]) -> int:
        return self._conversation.window(recipe, UNTRIMMED, *drafts).estimate

    def _put(self, rows: Sequence[Event], end: int) -> None:
        """Appends rows; those that are new get seqs between the ones around them, the recorded ones
        where the same rows were recorded here.
        """
        waiting: list[Event] = []
        for row in rows:
            if row.seq:
                self._append(waiting, row.seq)
                waiting = []
                self._add(self._placed(row))
            else:
                waiting.append(row)
        self._append(waiting, end)

    def _append(self, rows: Sequence[Event], seq: int) -> None:
        last = self._log[-1].seq if self._log else 0
        own = [each for each in self._gone if last < each < seq][: len(rows)]
        if len(own) == len(rows):
            numbered = [replace(row, seq=each) for row, each in zip(rows, own, strict=True)]
        else:
            numbered = self._numbered(rows, seq)
        for row in numbered:
            if isinstance(row, WindowLeadIn):
                self._floor = seq
            self._add(row)

    def _asked_again(self) -> Sequence[Event]:
        """The run's message and its images, once more; in the middle of a run, to go on."""
        began = self._began
        if self._replied or began is None or began.via == "continue":
            return (lead_in.CONTINUE,)
        return [replace(each, seq=0) for each in (began, *self._along.images[began.seq])]

    @property
    def _takes_notes(self) -> bool:
        return self._recipe is not None and any(t.name == MEMORY for t in self._recipe.tools)

    def _writing_notes(self, recorded: LlmRequest) -> Refolded:
        """The request behind a warning, and the notes in reply."""
        (asked,) = self._numbered([recorded], recorded.seq)
        window = super().window(asked)
        arguments = {"action": "write", "file": "context-notes", "text": self._assumed}
        call = Call(f"notes {recorded.seq}", MEMORY, json.dumps(arguments))
        rows: list[Event] = [
            LlmResponse(req=asked.seq, parts=(call,), finish="calls"),
            ToolResult(call_id=call.id, name=MEMORY, text=WROTE),
        ]
        for row in self._numbered(rows, recorded.seq):
            self._add(row)
        self._notes, self._notes_recorded = self._assumed, False
        assumed = message_tokens(AssistantRow((call,)))
        return Refolded(request=recorded, window=window, left=(), assumed=assumed)


def _is_said(event: Event) -> bool:
    """Whether it is a message on which a window may be left."""
    if not isinstance(event, UserMessage) or event.ctx != CONVERSATION:
        return False
    return event.via != "shell" and not event.rejected
