"""Recorded sessions under another policy: each recorded request's window built anew (ENG-30).

What was said and done stays as recorded; the policy's own elisions take the place of the recorded
ones as it goes, so that stickiness and hysteresis are its own. What the model would have said to
another window, nobody knows: a re-fold compares prompts, not outcomes.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar, cast

from nodwyn_tui.domain.events import (
    Approval,
    Event,
    LlmError,
    LlmRequest,
    LlmResponse,
    ResultFold,
    RunEnd,
    SessionRecipe,
    SessionResume,
    SessionStart,
    ToolCall,
    WindowReset,
    WindowRewind,
)
from nodwyn_tui.domain.recipe import Recipe
from nodwyn_tui.errors import ReplayError
from nodwyn_tui.lab.compactions import assumed_note, without_compactions
from nodwyn_tui.lab.orders import Orders
from nodwyn_tui.lab.policies import LabPolicy
from nodwyn_tui.window import handover, weighing
from nodwyn_tui.window.build import ENDLESS, UNTRIMMED, Shape, Window
from nodwyn_tui.window.carrying import Carrying
from nodwyn_tui.window.contexts import CONVERSATION
from nodwyn_tui.window.entries import Entry, size
from nodwyn_tui.window.handover import Handover
from nodwyn_tui.window.own_note import own_handover
from nodwyn_tui.window.policy import policy_for
from nodwyn_tui.window.rolling import Rolling
from nodwyn_tui.window.stale import Stale

AnyEvent = TypeVar("AnyEvent", bound=Event)

UNSEEN = (ToolCall, Approval, RunEnd, LlmError)
"""Frequent lines that stand in no window: left out, they cost no look at every request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """An entry that the former window of its context showed and this one does not, and the tokens
    (estimated) that left with it.
    """

    seq: int
    kind: str
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Refolded:
    """A recorded request, its window under the policy, and what left since the one before.
    `assumed` are the tokens (estimated) of a reply that was never given: of the handover note that
    the policy would have asked for.
    """

    request: LlmRequest
    window: Window
    left: tuple[Left, ...]
    assumed: int | None = None


def refold(events: Sequence[Event], policy: LabPolicy) -> Iterator[Refolded]:
    """Every recorded request of a session, in order, and those for handover notes that the policy
    adds. `ReplayError` where there is no recipe, or one of an unknown version.

    Under a strategy of the policy's own, recorded compactions never were.
    """
    session = _Session(policy, assumed_note(events))
    shown: dict[int, Window] = {}
    for event in events if policy.strategy is None else without_compactions(events):
        if not isinstance(event, LlmRequest):
            session.take(event)
            continue
        if (asked := session.compact(event)) is not None:
            yield asked
        window = session.window(event)
        left = _left(shown.get(event.ctx), window)
        shown[event.ctx] = window
        yield Refolded(request=event, window=window, left=left)


class _Session:
    """The log as it would be under a policy, so far."""

    def __init__(self, policy: LabPolicy, note: str) -> None:
        self._policy, self._note = policy, note
        self._carrying = Carrying()
        self._not_before = 0
        """Tokens that the window must have for the next compaction."""
        self._log: list[Event] = []
        self._recipe: Recipe | None = None
        self._stale = Stale()
        self._conversation = Rolling()
        self._others: dict[int, Rolling] = {}
        self._resumed = False
        self._orders = None if policy.order is None else Orders(policy.order)

    def take(self, event: Event) -> None:
        """The next event, as the policy has it."""
        match event:
            case SessionStart() | SessionResume() | SessionRecipe():
                self._recipe = self._policy.recipe_for(event.recipe)
                self._resumed = True
                event = replace(event, recipe=self._recipe)
            case ResultFold() if self._policy.folds is not None:
                return
            case WindowReset() if self._recipe and not policy_for(self._recipe.version).resets:
                return
            case _:
                pass
        if self._orders is None or self._orders.take(event):
            self._add(self._placed(event))

    def _placed(self, event: AnyEvent) -> AnyEvent:
        """Where the conversation goes on under the policy. A rewind ends behind the handover note:
        what lies before it could not have been taken back.
        """
        place = self._conversation.place
        if self._policy.strategy != "compact" or event.ctx != CONVERSATION or not place.ctx:
            return event
        placed = replace(event, ctx=place.ctx)
        if isinstance(placed, WindowRewind):
            return replace(placed, to=max(placed.to, place.since + 1))
        return placed

    def compact(self, recorded: LlmRequest) -> Refolded | None:
        """The request for a handover note that comes before a recorded one, if the policy compacts
        here: where the window crosses its high mark. The conversation goes on from the note then.
        """
        recipe, rolling = self._recipe, self._conversation
        if self._policy.strategy != "compact" or recipe is None or recorded.ctx != CONVERSATION:
            return None
        before = rolling.window(recipe, UNTRIMMED).estimate
        forced = _shape(recorded, self._policy).high_water or ENDLESS
        if before <= min(recipe.window.high_water, forced) or before < self._not_before:
            return None
        if not any(entry.kind == "assistant" for entry in rolling.window(recipe).entries):
            return None
        carried = self._carrying.now
        shape = Shape(high_water=recipe.window.ceiling)
        asked = rolling.window(recipe, shape, handover.request(recipe, carried))
        fits = asked.estimate <= recipe.window.ceiling
        made = Handover(self._note, source=recorded.seq)
        if not fits:
            made = own_handover(rolling.window(recipe), recipe, carried)
        # Just before the request, whose own seq they bear: there is no other between them.
        for row in handover.batch(
            made, carried, recipe, ctx=recorded.seq, parent=rolling.place.ctx
        ):
            self._add(replace(row, seq=recorded.seq))
        marks = recipe.window
        after = rolling.window(recipe).estimate
        self._not_before = after + (marks.high_water - marks.low_water) // 2
        if not fits:
            return None  # the program's own note: nothing is asked
        assumed = size(self._note.encode())
        request = replace(recorded, purpose="handover")
        return Refolded(request=request, window=asked, left=(), assumed=assumed)

    def window(self, recorded: LlmRequest) -> Window:
        """The window of a request, which is in the log from then on."""
        recipe = self._recipe
        if recipe is None:
            raise ReplayError(
                f"no recipe is recorded before the request at seq {recorded.seq}, so it cannot be"
                " rebuilt"
            )
        recorded = self._placed(self._freshened(recorded))
        rolling, shape = self._of(recorded.ctx), _shape(recorded, self._policy)
        window = rolling.window(recipe, shape)
        changes = bool(window.newly) or self._resumed
        if self._policy.folds and changes and self._fold(recorded, recipe, shape):
            # A trim that was due still goes down to the low mark: a window that folds alone bring
            # below the high one crosses it again at once, and loses its prefix each time.
            line = recipe.window.low_water if window.newly else shape.high_water
            window = rolling.window(recipe, replace(shape, high_water=line))
        self._resumed = False
        own = replace(recorded, digest=window.digest, elided=window.newly, estimate=window.estimate)
        self._add(own)
        return window if self._orders is None else self._orders.placed(window, own.fresh)

    def _freshened(self, recorded: LlmRequest) -> LlmRequest:
        """The request with the fresh rows that the policy gives it."""
        if self._orders is None:
            return recorded
        due = self._orders.due(recorded)
        made = [
            replace(row, seq=_between(recorded.seq, n, len(due.record)), ctx=recorded.ctx)
            for n, row in enumerate(due.record)
        ]
        for row in made:
            self._add(row)
        return replace(recorded, fresh=due.shown(made))

    def _fold(self, recorded: LlmRequest, recipe: Recipe, shape: Shape) -> bool:
        """Makes the folds that cost nothing now that the prefix changes anyway (ENG-21), before
        anything is trimmed.
        """
        untrimmed = self._of(recorded.ctx).window(recipe, replace(shape, high_water=ENDLESS))
        made = weighing.due(self._stale, untrimmed, weighing.Moment(held=0))
        for fold in made:
            # Just before the request, whose own seq it bears: there is no other between them.
            self._add(
                ResultFold(
                    seq=recorded.seq,
                    ctx=recorded.ctx,
                    target=fold.target,
                    text=fold.text,
                    why=fold.why,
                )
            )
        return bool(made)

    def _of(self, ctx: int) -> Rolling:
        """The windows of a context; a sub-context's follow from the log when it first asks."""
        if ctx == self._conversation.place.ctx:
            return self._conversation
        if ctx not in self._others:
            self._others[ctx] = Rolling(ctx)
            for event in self._log:
                self._others[ctx].feed(event)
        return self._others[ctx]

    def _add(self, event: Event) -> None:
        self._carrying.feed(event)
        if isinstance(event, UNSEEN):
            return
        self._log.append(event)
        self._stale.feed(event)
        if self._orders is not None:
            self._orders.feed(event)
        for rolling in (self._conversation, *self._others.values()):
            rolling.feed(event)


def answered(events: Sequence[Event]) -> Mapping[int, LlmResponse]:
    """The replies by their request's seq. A request without one was refused, or never came."""
    return {event.req: event for event in events if isinstance(event, LlmResponse)}


def scales(events: Sequence[Event]) -> dict[str, float]:
    """By origin, the prompt tokens that replies reported over what was estimated for them; an
    origin whose replies reported nothing is missing.
    """
    replies = answered(events)
    reported: dict[str, int] = {}
    estimated: dict[str, int] = {}
    for event in events:
        if isinstance(event, LlmRequest) and event.seq in replies:
            tokens, origin = replies[event.seq].usage.prompt_tokens, event.model.origin
            if tokens and event.estimate:
                reported[origin] = reported.get(origin, 0) + tokens
                estimated[origin] = estimated.get(origin, 0) + event.estimate
    return {origin: reported[origin] / estimated[origin] for origin in reported}


def _shape(recorded: LlmRequest, policy: LabPolicy) -> Shape:
    """A trim line of the request's own (headroom, a forced trim) was set against the marks that
    were recorded: it holds unless the policy sets a high one.
    """
    return Shape(
        no_tools=recorded.no_tools,
        offered_tools=recorded.offered_tools,
        high_water=recorded.high_water if policy.high is None else None,
        withheld={image.sha256: image.reason for image in recorded.withheld_images},
        fresh=recorded.fresh,
    )


def _between(seq: int, place: int, count: int) -> int:
    """A seq of its own for a row that the policy adds before the line at `seq`, where the log has
    none free: such rows are told apart and compared by it, no more.
    """
    return cast("int", seq - (count - place) / (count + 1))


def _left(former: Window | None, window: Window) -> tuple[Left, ...]:
    if former is None:
        return ()
    now = {entry.seq: entry for entry in window.entries}
    return tuple(
        Left(seq=was.seq, kind=was.kind, tokens=was.tokens - _tokens(now.get(was.seq)))
        for was in former.entries
        if was.state != "elided" and _is_out(now.get(was.seq))
    )


def _is_out(entry: Entry | None) -> bool:
    return entry is None or entry.state == "elided"


def _tokens(entry: Entry | None) -> int:
    return entry.tokens if entry else 0
