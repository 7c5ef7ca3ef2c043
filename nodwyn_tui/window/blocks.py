"""Which opaque blocks are still valid (ENG-20).

A provider checks that what came before a block is what it was when the block was made. So a reply
made before a change of anything earlier goes back without its blocks; one made after keeps them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from nodwyn_tui.domain.events import (
    Event,
    LlmRequest,
    ResultFold,
    SessionRecipe,
    SessionResume,
    SessionStart,
    SummaryAdd,
    SummaryRevoke,
    WindowEdit,
)
from nodwyn_tui.domain.recipe import Recipe

NOW = 2**62
"""The seq of what the request being built changes itself."""


@dataclass(frozen=True, slots=True)
class Change:
    """Something at `at` changed what windows show from the entry `first` on."""

    at: int
    first: int


def changes(events: Sequence[Event], recipe: Recipe, newly: Iterable[int]) -> list[Change]:
    """What changed entries that had been shown, in the order of the log."""
    found: list[Change] = []
    shape: tuple[object, ...] | None = None
    withheld: frozenset[str] = frozenset()
    for event in events:
        match event:
            case LlmRequest():
                found += [Change(event.seq, seq) for seq in event.elided]
                now = frozenset(image.sha256 for image in event.withheld_images)
                if now != withheld:
                    # Which entry bears the image does not matter: all before this reply may.
                    found.append(Change(event.seq, 0))
                withheld = now
            case ResultFold() | WindowEdit():
                found.append(Change(event.seq, event.target))
            case SummaryAdd():
                found.append(Change(event.seq, event.first))
            case SummaryRevoke():
                found.append(Change(event.seq, 0))
            case SessionStart() | SessionResume() | SessionRecipe():
                if shape is not None and _shape(event.recipe) != shape:
                    found.append(Change(event.seq, 0))
                shape = _shape(event.recipe)
            case _:
                pass
    if shape is not None and _shape(recipe) != shape:
        found.append(Change(NOW, 0))
    return found + [Change(NOW, seq) for seq in newly]


def stale(reply: int, found: Iterable[Change]) -> bool:
    """Whether anything before the reply at seq `reply` changed after it was made."""
    return any(change.at > reply > change.first for change in found)


def _shape(recipe: Recipe) -> tuple[object, ...]:
    """What of a recipe changes how earlier entries are shown."""
    return (
        recipe.version,
        recipe.system,
        recipe.tools,
        recipe.window.max_result_tokens,
        recipe.task_header,
        recipe.plan_header,
    )
