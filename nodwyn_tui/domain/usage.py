"""What a reply cost, as its server reported it. Missing stays `None`, never zero (PRV-10)."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import reduce
from typing import Literal, TypeVar

CACHED_SHARE = 10
"""How many cached tokens count as one in a budget: about what their price is to others'."""

WARM_MS = 1000
"""A prompt that was read sooner was hardly read at all."""

Number = TypeVar("Number", int, float)


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Token counts, milliseconds and US dollars of one reply.

    `prompt_tokens` includes what was read from the cache and written to it; `cache_write_tokens` is
    all that was written, `cache_write_long_tokens` the part of it that is kept for the longer time.
    `cost_from` says whether the server told the cost or the price table gave it.
    """

    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    cache_write_long_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    prompt_eval_ms: int | None = None
    eval_ms: int | None = None
    cost_usd: float | None = None
    cost_from: Literal["reported", "table"] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """The figures of many replies. `counted_prompt` and `counted_cached` are of the replies that
    report both (ENG-29); a sum that no reply reported is `None`; `unpriced` counts the replies
    whose cost is unknown, `uncounted` those whose tokens are.
    """

    replies: int = 0
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    output_tokens: int | None = None
    counted_prompt: int = 0
    counted_cached: int = 0
    cost_usd: float | None = None
    unpriced: int = 0
    uncounted: int = 0

    def plus(self, usage: Usage) -> "Totals":
        """With one more reply."""
        made = replace(
            self,
            replies=self.replies + 1,
            prompt_tokens=_sum(self.prompt_tokens, usage.prompt_tokens),
            cached_tokens=_sum(self.cached_tokens, usage.cached_tokens),
            cache_write_tokens=_sum(self.cache_write_tokens, usage.cache_write_tokens),
            output_tokens=_sum(self.output_tokens, usage.output_tokens),
            cost_usd=_sum(self.cost_usd, usage.cost_usd),
            unpriced=self.unpriced + (usage.cost_usd is None),
            uncounted=self.uncounted + (None in {usage.prompt_tokens, usage.output_tokens}),
        )
        if usage.cached_tokens is None or not usage.prompt_tokens:
            return made
        return replace(
            made,
            counted_prompt=self.counted_prompt + usage.prompt_tokens,
            counted_cached=self.counted_cached + usage.cached_tokens,
        )

    @property
    def budget(self) -> float | None:
        """Tokens as a budget counts them: one that was read from the cache is a tenth (AGT-5);
        `None` where a reply did not report what it read and wrote.
        """
        if self.uncounted or self.prompt_tokens is None or self.output_tokens is None:
            return None
        cached = min(self.cached_tokens or 0, self.prompt_tokens)
        return self.prompt_tokens - cached + cached / CACHED_SHARE + self.output_tokens

    @property
    def cache_rate(self) -> float | None:
        """The share of prompt tokens read from the cache, 0 to 1; `None` where unknown."""
        return self.counted_cached / self.counted_prompt if self.counted_prompt else None


def read_warm(usage: Usage, expected: int | None) -> bool:
    """Whether a prompt that the cache should hold `expected` tokens of came from it, by the time
    that its reading took: of a server that tells no more (PRV-7).
    """
    took = usage.prompt_eval_ms
    return bool(expected) and usage.cached_tokens is None and took is not None and took < WARM_MS


def _sum(total: Number | None, more: Number | None) -> Number | None:
    if more is None:
        return total
    return more if total is None else total + more


def totals(usages: Iterable[Usage]) -> Totals:
    """The totals of some replies."""
    return reduce(Totals.plus, usages, Totals())
