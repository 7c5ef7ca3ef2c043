"""What fills the window, as the context meter shows it: a fold of the window and the replies."""

from dataclasses import dataclass
from typing import Literal

from nodwyn_tui.domain import events as ev
from nodwyn_tui.domain.recipe import Recipe
from nodwyn_tui.domain.usage import read_warm, totals
from nodwyn_tui.link import events as up
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
    window: Window, recipe: Recipe, context_from: str, spent: Spent, new_from: int
) -> up.MeterChanged:
    """The meter's figures; entries from seq `new_from` on are this turn's new part."""
    handover = sum(entry.tokens for entry in window.entries if entry.kind in SUMMARIES)
    images = sum(entry.tokens for entry in window.entries if entry.kind == "attachment")
    rest = (entry for entry in window.entries if entry.kind not in (*SUMMARIES, "attachment"))
    new = sum(entry.tokens for entry in rest if entry.seq >= new_from)
    spoken = window.estimate - window.fixed
    used, source = _used(window, spent)
    last = spent.last[1] if spent.last else None
    return up.MeterChanged(
        segments=(
            up.Segment(kind="system", tokens=window.fixed),
            up.Segment(kind="summary", tokens=handover),
            up.Segment(kind="history", tokens=spoken - handover - images - new),
            up.Segment(kind="images", tokens=images),
            up.Segment(kind="new", tokens=new),
        ),
        used=used,
        source=source,
        high=recipe.window.high_water,
        low=recipe.window.low_water,
        ceiling=recipe.window.ceiling,
        context=recipe.num_ctx,
        context_from=context_from,
        cached_reply=totals([last.usage]).cache_rate if last else None,
        cached_session=spent.cache_rate,
        next_event=_next(window, recipe),
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


def _next(window: Window, recipe: Recipe) -> str:
    """What happens next and about when, at this window's pace so far."""
    room = recipe.window.high_water - window.estimate
    compacts = recipe.strategy == "compact"
    if room <= 0:
        return f"{'compacts' if compacts else 'trims'} at the next request"
    left = _steps_left(window, room)
    if compacts and not left:
        return f"compacts at {recipe.window.high_water / recipe.window.ceiling:.0%}"
    return f"next {'compaction' if compacts else 'trim'} in {left}" if left else ""


def _steps_left(window: Window, room: int) -> str:
    """`~12 steps`; '' where nothing tells."""
    steps = sum(entry.kind == "assistant" for entry in window.entries)
    grown = window.estimate - window.fixed
    if steps == 0 or grown <= 0:
        return ""
    left = room // max(grown // steps, 1)
    return f"~{left:,} {'step' if left == 1 else 'steps'}"
