"""(events, seq) → the request that `llm.req` at `seq` recorded, rebuilt and verified (ENG-26)."""

from collections.abc import Collection, Sequence

from nodwyn_tui.domain.events import (
    Event,
    LlmRequest,
    RecipeEvent,
    SessionRecipe,
    SessionRecovered,
    SessionResume,
    SessionStart,
    UnknownEvent,
)
from nodwyn_tui.errors import ReplayError
from nodwyn_tui.window import contexts
from nodwyn_tui.window.build import Shape, Window, build
from nodwyn_tui.window.contexts import Place
from nodwyn_tui.window.policy import policy_for

_BEARERS = (SessionStart.type, SessionResume.type, SessionRecipe.type)
"""Types of lines that bear a recipe."""


def replay(events: Sequence[Event], seq: int, lost: Collection[int] = ()) -> Window:
    """The verified window of the request at `seq`, from the events before it alone.

    `lost` are seqs that a reader found missing and no `session.recovered` names yet (ENG-5). Raises
    `ReplayError` that says what is missing or differs.
    """
    gone = {*lost, *(n for e in events if isinstance(e, SessionRecovered) for n in e.missing)}
    recorded, before = _request_at(events, seq, gone)
    bearer = _recipe_before(before, seq, gone)
    shape = Shape(
        no_tools=recorded.no_tools,
        offered_tools=recorded.offered_tools,
        high_water=recorded.high_water,
        withheld={image.sha256: image.reason for image in recorded.withheld_images},
        fresh=recorded.fresh,
    )
    place = contexts.place(before, resets=policy_for(bearer.recipe.version).resets)
    at = place if recorded.ctx == place.ctx else Place(recorded.ctx, 0)
    window = build(before, bearer.recipe, shape, at)
    if window.digest != recorded.digest:
        # What was lost behind the recipe may have been another one; before both, nothing counts.
        needed = _between(min(at.since, bearer.seq), gone, seq)
        raise ReplayError(_lost(seq, needed) if needed else _difference(recorded, window))
    return window


def _request_at(
    events: Sequence[Event], seq: int, gone: Collection[int]
) -> tuple[LlmRequest, Sequence[Event]]:
    """The request recorded at `seq`, and the events before it."""
    for index, event in enumerate(events):
        if event.seq != seq:
            continue
        match event:
            case LlmRequest(digest=""):
                raise ReplayError(
                    f"the request at seq {seq} was recorded without a digest, so nothing can verify"
                    " it"
                )
            case LlmRequest():
                return event, events[:index]
            case UnknownEvent(kind=LlmRequest.type):
                raise ReplayError(f"the request at seq {seq} cannot be read: {event.why}")
            case _:
                raise ReplayError(
                    f"seq {seq} is a {event.type or 'line of another build'}, not a request;"
                    f" requests here: {_listed(events)}"
                )
    if seq in gone:
        raise ReplayError(f"seq {seq} was lost to damage of the log; requests: {_listed(events)}")
    raise ReplayError(f"no event has seq {seq}; requests here: {_listed(events)}")


def _recipe_before(before: Sequence[Event], seq: int, gone: Collection[int]) -> RecipeEvent:
    """The latest event that bears a recipe among `before`, the events before `seq`."""
    for event in reversed(before):
        if isinstance(event, RecipeEvent):
            return event
        if isinstance(event, UnknownEvent) and event.kind in _BEARERS:
            raise ReplayError(
                f"the request at seq {seq} cannot be rebuilt: the recipe at seq {event.seq} cannot"
                f" be read ({event.why})"
            )
    if needed := _between(0, gone, seq):
        raise ReplayError(f"no recipe stands before it, and {_lost(seq, needed)}")
    raise ReplayError(
        f"no recipe is recorded before the request at seq {seq}, so it cannot be rebuilt"
    )


def _between(first: int, gone: Collection[int], seq: int) -> list[int]:
    return sorted(other for other in gone if first <= other < seq)


def _lost(seq: int, needed: Sequence[int]) -> str:
    return (
        f"the request at seq {seq} needs event {', '.join(map(str, needed))}, which was lost to"
        " damage of the log (see session.recovered)"
    )


def _listed(events: Sequence[Event]) -> str:
    seqs = [event.seq for event in events if isinstance(event, LlmRequest)]
    if not seqs:
        return "none"
    shown = ", ".join(map(str, seqs[:12]))
    return shown + (f", … {seqs[-1]} ({len(seqs)} in all)" if len(seqs) > 12 else "")


def _difference(recorded: LlmRequest, window: Window) -> str:
    """The figures of a request that does not rebuild."""
    newly = (
        ""
        if window.newly == recorded.elided
        else (f"; it had elided {list(recorded.elided)}, the rebuild elides {list(window.newly)}")
    )
    return (
        f"the request at seq {recorded.seq} does not match: recorded digest {recorded.digest},"
        f" estimate {recorded.estimate}; rebuilt {window.digest}, estimate {window.estimate},"
        f" {len(window.entries)} messages{newly}"
    )
