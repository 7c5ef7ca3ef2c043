"""The recipe of a session, made from the target, the prompt and the catalogue (ENG-8)."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from nodwyn_tui.agent.fresh import caps_of
from nodwyn_tui.agent.target import ASSUMED, Target
from nodwyn_tui.config.schema import WindowSettings
from nodwyn_tui.domain.events import Note
from nodwyn_tui.domain.recipe import CURRENT_VERSION, Recipe, Strategy, WindowLimits
from nodwyn_tui.tools.base import Tool
from nodwyn_tui.window.entries import fixed_tokens
from nodwyn_tui.window.sizes import limits
from nodwyn_tui.window.tasks import PLAN_HEADER, TASK_HEADER

CONTEXT_UNKNOWN = (
    "nobody tells the context of {name}, so the window is trimmed, and not left for a new one, as"
    " strategy = rollover has it. {context:,} tokens are assumed: set `context` in the model's"
    " entry"
)
STRATEGY_CHANGED = (
    "a full window means {now}, as the settings have it; last time it meant {was}, which"
    " --strategy {was} or the settings bring back"
)


def new_recipe(
    target: Target, system: str, tools: Sequence[Tool[Any]], settings: WindowSettings
) -> Recipe:
    """A new session's recipe; `BlockedError` where the context is too small for it."""
    specs = tuple(tool.spec for tool in tools)
    strategy = _strategy(target, known=target.context_from != ASSUMED)
    window = _limits(target.context, target, fixed_tokens(system, specs), strategy)
    return Recipe(
        version=CURRENT_VERSION,
        system=system,
        tools=specs,
        window=window,
        num_ctx=target.context,
        keep_alive=target.parameters.keep_alive,
        task_header=TASK_HEADER if settings.task_header is None else settings.task_header,
        plan_header=PLAN_HEADER if settings.plan_header is None else settings.plan_header,
        max_output=window.output_reserve,
        strategy=strategy,
        keep_reasoning=target.parameters.keep_reasoning,
        fresh=target.fresh,
        class_caps=_caps(target, window, fixed_tokens(system, specs)),
    )


def resumed_recipe(last: Recipe, target: Target, *, same_model: bool) -> Recipe:
    """A resumed or switched session's: its own prompt, catalogue and headers, the target's sizes
    (ENG-11). `BlockedError` where the context is too small for them.

    Where the `same_model` goes on and its server does not tell the context just now, the recorded
    sizes stand: an assumed context would trim what fits.
    """
    fixed = fixed_tokens(last.system, last.tools)
    guessed = target.context_from == ASSUMED
    stands = same_model and guessed
    context = last.num_ctx if stands else target.context
    known = not guessed or (stands and last.strategy == "rollover")
    strategy = _strategy(target, known=known)
    window, max_output = last.window, last.max_output
    if not stands or strategy != last.strategy:
        window = _limits(context, target, fixed, strategy)
        max_output = window.output_reserve
    return replace(
        last,
        version=CURRENT_VERSION,
        keep_alive=target.parameters.keep_alive,
        strategy=strategy,
        keep_reasoning=target.parameters.keep_reasoning,
        fresh=target.fresh,
        window=window,
        num_ctx=context,
        max_output=max_output,
        class_caps=_caps(target, window, fixed),
    )


def remarks(target: Target, recipe: Recipe) -> tuple[Note, ...]:
    """What the person is told where a session trims, though it was to roll over (ROL-6)."""
    if target.strategy == recipe.strategy:
        return ()
    text = CONTEXT_UNKNOWN.format(name=target.ref.name, context=recipe.num_ctx)
    return (Note(text=text, audience="person", why="rollover"),)


def changed(last: Recipe, recipe: Recipe) -> tuple[Note, ...]:
    """What the person is told where a session goes on with another strategy than it had, though
    nobody asked for one: `--strategy` is of one start, the settings are of all.
    """
    if last.strategy == recipe.strategy:
        return ()
    text = STRATEGY_CHANGED.format(now=recipe.strategy, was=last.strategy)
    return (Note(text=text, audience="person", why="strategy"),)


def _limits(context: int, target: Target, fixed: int, strategy: Strategy) -> WindowLimits:
    """The window's marks. One that is left for another is trimmed nowhere below the ceiling."""
    window = limits(context, fixed, target.wanted, target.listing_limit)
    return replace(window, high_water=window.ceiling) if strategy == "rollover" else window


def _strategy(target: Target, *, known: bool) -> Strategy:
    """The target's, but for a window whose context is not `known`: a share of a guess says nothing
    of when to leave it.
    """
    return "trim" if target.strategy == "rollover" and not known else target.strategy


def _caps(target: Target, window: WindowLimits, fixed: int) -> dict[str, int]:
    """The caps of fresh context's kinds; none where none is sent."""
    return {} if target.fresh == "off" else caps_of(window.ceiling, fixed)
