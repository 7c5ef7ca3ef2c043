"""What fills the window, as the context meter shows it: a fold of the window and the replies."""

from dataclasses import dataclass
from typing import Literal

from nodwyn_tui.agent.countdown import next_event
from nodwyn_tui.domain import events as ev
from nodwyn_tui.domain.recipe import Recipe
from nodwyn_tui.domain.usage import read_warm, totals
from nodwyn_tui.link import events as up
from nodwyn_tui.window.budget import Budget, marks
from nodwyn_tui.window.build import Window

SUMMARIES = ("summary", "handover")
"""Entries that stand for what is no more in the window."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """The replies so far: the share of their prompts that was read from the cache, dollars (unknown
    is `None`), how many replies cost an unknown sum, and the last request with its reply if the
    window and the model are still the ones that it had; `grew` says that nothing of what it showed
    was changed since.
    """

    cache_rate: float | None
    cost_usd: float | None
    unpriced: int
    last: tuple[ev.LlmRequest, ev.LlmResponse] | None
    grew: bool = True


def measure(
    window: Window,
    recipe: Recipe,
    context_from: str,
    spent: Spent,
    new_from: int,
    budget: Budget,
) -> up.MeterChanged:
    """The meter's figures; entries from seq `new_from` on are this turn's new part."""
    high, low = _marks(recipe)
    handover = sum(entry.tokens for entry in window.entries if entry.kind in SUMMARIES)
    images = sum(entry.tokens for entry in window.entries if entry.kind == "attachment")
    fresh = sum(entry.tokens for entry in window.entries if entry.kind == "fresh")
    apart = (*SUMMARIES, "attachment", "fresh")
    rest = (entry for entry in window.entries if entry.kind not in apart)
    new = sum(entry.tokens for entry in rest if entry.seq >= new_from)
    spoken = window.estimate - window.fixed
    rolls = recipe.strategy == "rollover"
    used, source = _projected(window, spent, budget) if rolls else _used(window, spent)
    last = spent.last[1] if spent.last else None
    return up.MeterChanged(
        segments=(
            up.Segment(kind="system", tokens=window.fixed),
            up.Segment(kind="summary", tokens=handover),
            up.Segment(kind="history", tokens=spoken - handover - images - fresh - new),
            up.Segment(kind="images", tokens=images),
            up.Segment(kind="fresh", tokens=fresh),
            up.Segment(kind="new", tokens=new),
        ),
        used=used,
        source=source,
        high=high,
        low=low,
        ceiling=recipe.window.ceiling,
        context=recipe.num_ctx,
        context_from=context_from,
        cached_reply=totals([last.usage]).cache_rate if last else None,
        cached_session=spent.cache_rate,
        next_event=next_event(window, recipe, budget),
        strategy=recipe.strategy,
        cost_usd=spent.cost_usd,
        unpriced=spent.unpriced,
        elapsed_ms=last.ms if last else None,
        warm=read_warm(last.usage, spent.last[0].predicted_cached)
        if last and spent.last
        else False,
    )


def _used(window: Window, spent: Spent) -> tuple[int, Literal["reported", "estimated"]]:
    """The server's own count of the last prompt and the estimate of what came since, while the
    window only grew; else the estimate of all of it.
    """
    if spent.last is None or window.newly or not spent.grew:
        return window.estimate, "estimated"
    request, reply = spent.last
    if not reply.usage.prompt_tokens or window.estimate < request.estimate:
        return window.estimate, "estimated"
    return reply.usage.prompt_tokens + window.estimate - request.estimate, "reported"


def _projected(
    window: Window, spent: Spent, budget: Budget
) -> tuple[int, Literal["reported", "estimated"]]:
    """What a window is left by: what the next request comes to, of the last one's report and its
    estimate the larger.
    """
    asked, reply = spent.last or (None, None)
    reported = (reply.usage.prompt_tokens or 0) if reply and spent.grew else 0
    is_reported = asked is not None and reported >= asked.estimate
    return budget.projection(window), "reported" if is_reported else "estimated"


def _marks(recipe: Recipe) -> tuple[int, int]:
    """Where the window is trimmed or left, and what it is trimmed to, or where the model is warned;
    zeros where nothing happens by itself.
    """
    if recipe.strategy != "rollover":
        return recipe.window.high_water, recipe.window.low_water
    at = marks(recipe.window)
    return (at.force, at.warn) if at else (0, 0)
