"""Recorded sessions under another policy: each recorded request's window built anew (ENG-30).

What was said and done stays as recorded; the policy's own elisions take the place of the recorded
ones as it goes, so that stickiness and hysteresis are its own. What the model would have said to
another window, nobody knows: a re-fold compares prompts, not outcomes.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from nodwyn_tui.domain.events import (
    Approval,
    Event,
    FreshContext,
    LlmError,
    LlmRequest,
    LlmResponse,
    ResultFold,
    RunEnd,
    SessionRecipe,
    SessionResume,
    SessionStart,
    ToolCall,
)
from nodwyn_tui.domain.recipe import Recipe
from nodwyn_tui.errors import ReplayError
from nodwyn_tui.lab.policies import LabPolicy
from nodwyn_tui.window.build import Shape, Window, build
from nodwyn_tui.window.contexts import Place, StartTracker
from nodwyn_tui.window.entries import Entry
from nodwyn_tui.window.policy import policy_for

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
    """A recorded request, its window under the policy, and what left since the one before."""

    request: LlmRequest
    window: Window
    left: tuple[Left, ...]


def refold(events: Sequence[Event], policy: LabPolicy) -> Iterator[Refolded]:
    """Every recorded request of a session, in order. `ReplayError` where there is no recipe, or one
    of an unknown version.
    """
    log: list[Event] = []
    recipe: Recipe | None = None
    trackers = {resets: StartTracker(resets=resets) for resets in (False, True)}
    shown: dict[int, Window] = {}
    for event in events:
        match event:
            case SessionStart() | SessionResume() | SessionRecipe():
                recipe = policy.recipe_for(event.recipe)
                own: Event = replace(event, recipe=recipe)
            case LlmRequest():
                known = _known(recipe, event)
                place = trackers[policy_for(known.version).resets].place
                window = build(log, known, _shape(event, policy), _at(event, place))
                former = shown.get(event.ctx)
                yield Refolded(request=event, window=window, left=_left(former, window))
                shown[event.ctx] = window
                own = replace(event, elided=window.newly, estimate=window.estimate)
            case _:
                own = event
        if not isinstance(own, UNSEEN) and not _withdrawn(own, policy):
            log.append(own)
        for tracker in trackers.values():
            tracker.feed(own)


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


def _known(recipe: Recipe | None, event: LlmRequest) -> Recipe:
    if recipe is None:
        raise ReplayError(
            f"no recipe is recorded before the request at seq {event.seq}, so it cannot be rebuilt"
        )
    return recipe


def _shape(recorded: LlmRequest, policy: LabPolicy) -> Shape:
    """A trim line of the request's own (headroom, a forced trim) was set against the marks that
    were recorded: it holds unless the policy sets a high one.
    """
    return Shape(
        no_tools=recorded.no_tools,
        offered_tools=recorded.offered_tools,
        high_water=recorded.high_water if policy.high is None else None,
        withheld={image.sha256: image.reason for image in recorded.withheld_images},
    )


def _at(event: LlmRequest, place: Place) -> Place:
    return place if event.ctx == place.ctx else Place(event.ctx, 0)


def _withdrawn(event: Event, policy: LabPolicy) -> bool:
    """Whether the policy does without what was recorded."""
    if isinstance(event, ResultFold):
        return policy.folds is False
    return isinstance(event, FreshContext) and policy.order == "off"


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
