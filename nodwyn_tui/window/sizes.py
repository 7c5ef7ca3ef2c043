"""Marks and caps from the model's context (ENG-18). All figures are tokens."""

from dataclasses import dataclass

from nodwyn_tui.domain.recipe import WindowLimits
from nodwyn_tui.errors import BlockedError

CAP_LEAST, CAP_MOST = 3_072, 16_384
CAP_SHARE_OF_HIGH = 48
ROOM_FOR_A_MESSAGE = 256
"""The least that must be left for what the person says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What the person set; `None` follows the context. `max_output` is the model's own entry."""

    max_output: int | None = None
    output_reserve: int = 8_192
    high_water: int | None = None
    low_water: int | None = None
    max_result_tokens: int | None = None
    threshold: float = 0.70


def reply_cap(context: int, wanted: Wanted, listing_limit: int | None) -> int:
    """The most a reply may have: the model's setting or the reserve, never over the listing's limit
    nor a quarter of the context.
    """
    cap = min(wanted.max_output or wanted.output_reserve, context // 4)
    return min(cap, listing_limit) if listing_limit else cap


def limits(context: int, prefix: int, wanted: Wanted, listing_limit: int | None) -> WindowLimits:
    """The window of a session; `prefix` is the estimate of system prompt and tools.

    Raises `BlockedError` with the figures if the context cannot hold the prefix, one message and
    the reply.
    """
    reply = reply_cap(context, wanted, listing_limit)
    ceiling = context - reply
    if prefix + ROOM_FOR_A_MESSAGE > ceiling:
        raise BlockedError(
            f"a context of {context:,} tokens cannot hold the system prompt and tools"
            f" ({prefix:,} estimated), one message and a reply of {reply:,}: choose a model with a"
            " larger context, or set `context` (`num_ctx` on Ollama) or a smaller `max_output`"
            " in its entry"
        )
    high, low = _marks(ceiling, prefix, wanted)
    return WindowLimits(
        high_water=high,
        low_water=low,
        ceiling=ceiling,
        max_result_tokens=_result_cap(ceiling, prefix, high, wanted),
        output_reserve=reply,
        threshold=wanted.threshold,
    )


def _marks(ceiling: int, prefix: int, wanted: Wanted) -> tuple[int, int]:
    own_high = 3 * ceiling // 4
    if own_high < prefix + ROOM_FOR_A_MESSAGE:
        # The prefix alone would be over it, and every request trimmed to the bone.
        own_high = prefix + (ceiling - prefix) // 2
    high = wanted.high_water
    if high is None or high > ceiling or high <= prefix:
        high = own_high
    low = wanted.low_water
    if low is None or low >= high or low <= prefix:
        low = prefix + (high - prefix) // 2
    return high, low


def _result_cap(ceiling: int, prefix: int, high: int, wanted: Wanted) -> int:
    if wanted.max_result_tokens is not None:
        cap = wanted.max_result_tokens
    elif wanted.high_water is not None:
        cap = CAP_LEAST
    else:
        cap = min(max(high // CAP_SHARE_OF_HIGH, CAP_LEAST), CAP_MOST)
    return max(min(cap, (ceiling - prefix) // 8), 1)
