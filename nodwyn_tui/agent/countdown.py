"""What happens to the window next, and about when, at its pace so far: words for the meter (TUI-3).
Nothing is decided here: that is `window/budget.py`'s, and the engine's where it trims.
"""

from nodwyn_tui.domain.recipe import Recipe
from nodwyn_tui.window.budget import Blocked, Budget, RollOver, Warn, marks, warning_room
from nodwyn_tui.window.build import Window
from nodwyn_tui.window.rows import HISTORY_TOOL

NEAR = 9
"""Steps before a rollover from which on they are counted down."""
DUE = "at the next request"


def next_event(window: Window, recipe: Recipe, budget: Budget) -> str:
    """'next trim in ~12 steps', or '' where nothing tells."""
    if recipe.strategy == "rollover":
        return _rolls_over(window, recipe, budget)
    room = recipe.window.high_water - window.estimate
    compacts = recipe.strategy == "compact"
    if room <= 0:
        return f"{'compacts' if compacts else 'trims'} {DUE}"
    left = _steps(window, window.estimate, room)
    if compacts and left is None:
        return f"compacts at {recipe.window.high_water / recipe.window.ceiling:.0%}"
    what = "next compaction" if compacts else "next trim"
    return "" if left is None else f"{what} in {_counted(left)}"


def _rolls_over(window: Window, recipe: Recipe, budget: Budget) -> str:
    """The warning and the rollover are counted down as they near (ROL-3)."""
    at = marks(recipe.window)
    if at is None:
        return "nothing by itself"
    history = any(tool.name == HISTORY_TOOL for tool in recipe.tools)
    match budget.decide("mid-run", window, recipe, history=history):
        case RollOver():
            return f"rolls over {DUE}"
        case Warn():
            return f"warns {DUE}"
        case Blocked():
            sent = budget.decide("on-send", window, recipe, history=history) is None
            return f"rolls over in {_counted(1)}" if sent and _rests(window) else f"stops {DUE}"
        case None:
            pass
    tokens = budget.projection(window)
    fits = at.warn + warning_room(at.ceiling) <= at.ceiling
    warns = bool(recipe.tools) and not budget.warned and tokens < at.warn and fits
    left = _steps(window, tokens, (at.warn if warns else at.force) - tokens)
    then = "rolls over" if history else "stops"
    if left is None or left > NEAR:
        return f"{then} at {100 * at.force / at.ceiling:.0f} %"
    return f"{'warns' if warns else then} in {_counted(left)}"


def _rests(window: Window) -> bool:
    """Whether no run goes on that would be stopped: what comes next is a message (ROL-5)."""
    kinds = [entry.kind for entry in window.entries if entry.kind != "fresh"]
    return kinds[-1:] == ["assistant"]


def _steps(window: Window, tokens: int, room: int) -> int | None:
    """How many steps fill `room` tokens where those so far came to `tokens`."""
    steps = sum(entry.kind == "assistant" for entry in window.entries)
    grown = tokens - window.fixed
    return room // max(grown // steps, 1) if steps and grown > 0 else None


def _counted(steps: int) -> str:
    """At least one: what is due at the next request is said otherwise."""
    steps = max(steps, 1)
    return f"~{steps:,} {'step' if steps == 1 else 'steps'}"
