"""What a reply cost, as its server reported it. Missing stays `None`, never zero (PRV-10)."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Token counts, milliseconds and US dollars of one reply.

    `prompt_tokens` includes what was read from the cache and written to it. `cost_from` says
    whether the server told the cost or the price table gave it.
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


def cache_rate(replies: list[Usage]) -> float | None:
    """The share of prompt tokens read from the cache, 0 to 1, over replies that report both.

    `None` if no reply reports cached tokens and a positive prompt (ENG-29).
    """
    counted = [
        (u.cached_tokens, u.prompt_tokens)
        for u in replies
        if u.cached_tokens is not None and u.prompt_tokens is not None and u.prompt_tokens > 0
    ]
    if not counted:
        return None
    return sum(cached for cached, _ in counted) / sum(prompt for _, prompt in counted)
