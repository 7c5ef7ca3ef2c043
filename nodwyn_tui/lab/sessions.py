"""A recorded session's log as it would be under a policy, event by event (ENG-30). What a policy
does when the window fills is in `compactions.py` and `rollovers.py`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar, cast

from nodwyn_tui.domain.events import (
    Approval,
    Event,
    LlmError,
    LlmRequest,
    ResultFold,
    RunEnd,
    SessionRecipe,
    SessionResume,
    SessionStart,
    ToolCall,
    WindowReset,
)
from nodwyn_tui.domain.recipe import Recipe
from nodwyn_tui.errors import ReplayError
from nodwyn_tui.lab.orders import Orders
from nodwyn_tui.lab.policies import LabPolicy
from nodwyn_tui.window import weighing
from nodwyn_tui.window.build import ENDLESS, Shape, Window
from nodwyn_tui.window.carrying import Carrying
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
    `assumed` are the tokens (estimated) of a reply that was never given: of the note or notes that
    the policy would have had the model write.
    """

    request: LlmRequest
    window: Window
    left: tuple[Left, ...]
    assumed: int | None = None


class Session:
    """The log under a policy, so far."""

    def __init__(self, policy: LabPolicy, orders: Orders | None = None) -> None:
        self._policy = policy
        self._carrying = Carrying()
        self._log: list[Event] = []
        self._recipe: Recipe | None = None
        self._stale = Stale()
        self._conversation = Rolling()
        self._others: dict[int, Rolling] = {}
        self._resumed = False
        self._orders = orders or (None if policy.order is None else Orders(policy.order))

    def take(self, event: Event) -> None:
        """The next event as recorded."""
        if (had := self._had(event)) is not None:
            self._add(self._placed(had))

    def _had(self, event: Event) -> Event | None:
        """An event as the policy's log has it, `None` where it has not."""
        match event:
            case SessionStart() | SessionResume() | SessionRecipe():
                self._recipe = self._policy.recipe_for(event.recipe)
                self._resumed = True
                event = replace(event, recipe=self._recipe)
            case ResultFold() if self._policy.folds is not None:
                return None
            case WindowReset() if self._recipe and not policy_for(self._recipe.version).resets:
                return None
            case _:
                pass
        return event if self._orders is None or self._orders.take(event) else None

    def before(self, recorded: LlmRequest) -> Iterator[Refolded]:  # noqa: ARG002 - a hook
        """The requests that the policy adds before a recorded one."""
        yield from ()

    def window(self, recorded: LlmRequest) -> Window:
        """The window of a request, which is in the log from then on."""
        recipe = self._recipe
        if recipe is None:
            raise ReplayError(
                f"no recipe is recorded before the request at seq {recorded.seq}, so it cannot be"
                " rebuilt"
            )
        recorded = self._placed(self._freshened(recorded))
        rolling, shape = self._of(recorded.ctx), self._shape(recorded)
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

    def _placed(self, event: AnyEvent) -> AnyEvent:
        """Where the conversation goes on under the policy."""
        return event

    def _shape(self, recorded: LlmRequest) -> Shape:
        """A trim line of the request's own (headroom, a forced trim) was set against the marks that
        were recorded: it holds unless the policy sets a high one.
        """
        return Shape(
            no_tools=recorded.no_tools,
            offered_tools=recorded.offered_tools,
            high_water=recorded.high_water if self._policy.high is None else None,
            withheld={image.sha256: image.reason for image in recorded.withheld_images},
            fresh=recorded.fresh,
        )

    def _freshened(self, recorded: LlmRequest) -> LlmRequest:
        """The request with the fresh rows that the policy gives it."""
        if self._orders is None:
            return recorded
        due = self._orders.due(recorded)
        made = [replace(row, ctx=recorded.ctx) for row in due.record]
        made = self._numbered(made, recorded.seq)
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

    def _numbered(self, rows: Sequence[AnyEvent], seq: int) -> list[AnyEvent]:
        """Rows that the policy adds before the line at `seq`, each with a seq of its own between
        that and the last one's, where the log has none free: by it rows are told apart and
        compared, no more.
        """
        last = self._log[-1].seq if self._log and self._log[-1].seq < seq else seq - 1
        step = (seq - last) / (len(rows) + 1)
        return [
            replace(row, seq=cast("int", last + step * number))
            for number, row in enumerate(rows, 1)
        ]
