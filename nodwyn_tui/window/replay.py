"""(events, seq) → the request that `llm.req` at `seq` recorded, rebuilt and verified (ENG-26)."""

from collections.abc import Sequence

from nodwyn_tui.domain.events import (
    Event,
    LlmRequest,
    SessionRecipe,
    SessionRecovered,
    SessionResume,
    SessionStart,
)
from nodwyn_tui.domain.recipe import Recipe
from nodwyn_tui.errors import ReplayError
from nodwyn_tui.window import contexts
from nodwyn_tui.window.build import Shape, Window, build
from nodwyn_tui.window.contexts import Place
from nodwyn_tui.window.policy import policy_for


def replay(events: Sequence[Event], seq: int) -> Window:
    """The verified window of the request at `seq`, from the events before it alone.

    Raises `ReplayError` that says what is missing or differs.
    """
    recorded, before = request_at(events, seq)
    recipe = recipe_before(before, seq)
    shape = Shape(
        no_tools=recorded.no_tools,
        offered_tools=recorded.offered_tools,
        high_water=recorded.high_water,
        withheld={image.sha256: image.reason for image in recorded.withheld_images},
    )
    place = contexts.place(before, resets=policy_for(recipe.version).resets)
    at = place if recorded.ctx == place.ctx else Place(recorded.ctx, 0)
    window = build(before, recipe, shape, at)
    if window.digest != recorded.digest:
        raise ReplayError(_difference(events, at.since, recorded, window))
    return window


def request_at(events: Sequence[Event], seq: int) -> tuple[LlmRequest, Sequence[Event]]:
    """The request recorded at `seq`, and the events before it."""
    for index, event in enumerate(events):
        if event.seq == seq:
            if not isinstance(event, LlmRequest):
                raise ReplayError(
                    f"seq {seq} is a {event.type or 'line of another build'}, not a request;"
                    f" requests here: {_listed(events)}"
                )
            return event, events[:index]
    raise ReplayError(f"no event has seq {seq}; requests here: {_listed(events)}")


def recipe_before(before: Sequence[Event], seq: int) -> Recipe:
    """The latest recipe among `before`, the events before `seq`."""
    for event in reversed(before):
        if isinstance(event, SessionStart | SessionResume | SessionRecipe):
            return event.recipe
    raise ReplayError(
        f"no recipe is recorded before the request at seq {seq}, so it cannot be rebuilt"
    )


def _listed(events: Sequence[Event]) -> str:
    seqs = [event.seq for event in events if isinstance(event, LlmRequest)]
    if not seqs:
        return "none"
    shown = ", ".join(map(str, seqs[:12]))
    return shown + (f", … {seqs[-1]} ({len(seqs)} in all)" if len(seqs) > 12 else "")


def _difference(events: Sequence[Event], first: int, recorded: LlmRequest, window: Window) -> str:
    """Why a request does not rebuild: lost events from `first` on, where its window begins, or the
    figures.
    """
    gone = [
        seq
        for event in events
        if isinstance(event, SessionRecovered)
        for seq in event.missing
        if first <= seq < recorded.seq
    ]
    if gone:
        return (
            f"the request at seq {recorded.seq} needs event {', '.join(map(str, gone))},"
            " which was lost to damage of the log (see session.recovered)"
        )
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
