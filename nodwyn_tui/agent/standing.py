"""Where each entry of the transcript stands in the window: a fold of the window alone."""

from collections.abc import Sequence

from nodwyn_tui.domain import events as ev
from nodwyn_tui.errors import ReplayError
from nodwyn_tui.link.events import EntryState
from nodwyn_tui.window import contexts
from nodwyn_tui.window.build import UNTRIMMED, Window, build
from nodwyn_tui.window.policy import policy_for


class Standing:
    """The states of the log's lines by their seqs, in one window that begins at seq `since`."""

    def __init__(self, window: Window, since: int) -> None:
        self._since, self._elided, self._dropped = since, window.elided, window.dropped
        self._shown = {entry.seq: entry.state for entry in window.entries}

    def of(self, seq: int) -> EntryState:
        """The state of the line at `seq`: one before the start is behind it, one that the window
        neither shows nor has dropped or elided stands outside.
        """
        if seq in self._dropped:
            return "dropped"
        if seq in self._elided:
            return "elided"
        if (state := self._shown.get(seq)) is not None:
            return state
        return "behind" if seq < self._since else "outside"


def standing(events: Sequence[ev.Event]) -> Standing | None:
    """As it is after `events`; `None` for a recipe that nobody here can execute, or none."""
    recipes = [event.recipe for event in events if isinstance(event, ev.RecipeEvent)]
    if not recipes:
        return None
    try:
        at = contexts.place(events, resets=policy_for(recipes[-1].version).resets)
        return Standing(build(events, recipes[-1], UNTRIMMED, at), at.since)
    except ReplayError:
        return None
