"""The recipe of a session, made from the target, the prompt and the catalogue (ENG-8)."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from nodwyn_tui.agent.fresh import caps_of
from nodwyn_tui.agent.target import ASSUMED, Target
from nodwyn_tui.config.schema import WindowSettings
from nodwyn_tui.domain.recipe import CURRENT_VERSION, Recipe, WindowLimits
from nodwyn_tui.tools.base import Tool
from nodwyn_tui.window.entries import fixed_tokens
from nodwyn_tui.window.sizes import limits
from nodwyn_tui.window.tasks import PLAN_HEADER, TASK_HEADER


def new_recipe(
    target: Target, system: str, tools: Sequence[Tool[Any]], settings: WindowSettings
) -> Recipe:
    """A new session's recipe; `BlockedError` where the context is too small for it."""
    specs = tuple(tool.spec for tool in tools)
    window = limits(
        target.context, fixed_tokens(system, specs), target.wanted, target.listing_limit
    )
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
        strategy=target.strategy,
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
    last = replace(
        last,
        version=CURRENT_VERSION,
        keep_alive=target.parameters.keep_alive,
        strategy=target.strategy,
        keep_reasoning=target.parameters.keep_reasoning,
        fresh=target.fresh,
    )
    last = replace(
        last, class_caps=_caps(target, last.window, fixed_tokens(last.system, last.tools))
    )
    if same_model and target.context_from == ASSUMED:
        return last
    window = limits(
        target.context,
        fixed_tokens(last.system, last.tools),
        target.wanted,
        target.listing_limit,
    )
    return replace(
        last,
        window=window,
        num_ctx=target.context,
        max_output=window.output_reserve,
        class_caps=_caps(target, window, fixed_tokens(last.system, last.tools)),
    )


def _caps(target: Target, window: WindowLimits, fixed: int) -> dict[str, int]:
    """The caps of fresh context's kinds; none where none is sent."""
    return {} if target.fresh == "off" else caps_of(window.ceiling, fixed)
