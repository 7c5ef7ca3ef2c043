"""What fills the window, as the context meter shows it: a fold of the window and the replies."""

from collections.abc import Sequence
from dataclasses import dataclass

from nodwyn_tui.domain.recipe import Recipe
from nodwyn_tui.domain.usage import Usage, cache_rate
from nodwyn_tui.link import events as up
from nodwyn_tui.window.build import Window


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """The replies so far: their usages in order, dollars (unknown is `None`), the last one's time
    in milliseconds, and the estimate their last request had.
    """

    usages: Sequence[Usage]
    cost_usd: float | None
    elapsed_ms: int | None
    last_estimate: int | None


def measure(
    window: Window, recipe: Recipe, context_from: str, spent: Spent, new_from: int
) -> up.MeterChanged:
    """The meter's figures; entries from seq `new_from` on are this turn's new part."""
    new = sum(entry.tokens for entry in window.entries if entry.seq >= new_from)
    history = window.estimate - window.fixed - new
    used, source = window.estimate, "estimated"
    last = spent.usages[-1] if spent.usages else None
    if last is not None and last.prompt_tokens and spent.last_estimate:
        # The server's own count of the last prompt, and the estimate for what came since.
        grown = max(window.estimate - spent.last_estimate, 0)
        used, source = last.prompt_tokens + grown, "reported"
    if window.newly:
        used, source = window.estimate, "estimated"
    return up.MeterChanged(
        segments=(
            up.Segment(kind="system", tokens=window.fixed),
            up.Segment(kind="history", tokens=history),
            up.Segment(kind="new", tokens=new),
        ),
        used=used,
        source="reported" if source == "reported" else "estimated",
        high=recipe.window.high_water,
        low=recipe.window.low_water,
        ceiling=recipe.window.ceiling,
        context=recipe.num_ctx,
        context_from=context_from,
        cached_reply=cache_rate([last]) if last else None,
        cached_session=cache_rate(list(spent.usages)),
        next_event=_next_trim(window, recipe, len(spent.usages)),
        cost_usd=spent.cost_usd,
        elapsed_ms=spent.elapsed_ms,
    )


def _next_trim(window: Window, recipe: Recipe, steps: int) -> str:
    """What happens next and about when, at the pace so far."""
    room = recipe.window.high_water - window.estimate
    if room <= 0:
        return "trims at the next request"
    grown = window.estimate - window.fixed
    if steps == 0 or grown <= 0:
        return ""
    left = room // max(grown // steps, 1)
    return f"next trim in ~{left:,} {'step' if left == 1 else 'steps'}"
