"""What a router's listing says of prices, and of when they are others (PRV-10, PRV-11).

Read leniently: what cannot be read is missing, and spoils no other figure.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from nodwyn_tui.domain.price import Hours, Price, Rates, Tier
from nodwyn_tui.domain.request import Json

SOURCE = "/models pricing"

_CONDITIONS = frozenset({"min_prompt_tokens", "utc_start", "utc_end", "utc_days"})
_DAY = 24 * 60
_DEAREST = 1_000_000
"""US dollars per million tokens; more is no price."""


@dataclass(frozen=True, slots=True)
class _Overrides:
    """Other rates for long prompts, and for a part of the day."""

    tiers: tuple[Tier, ...]
    hours: tuple[Hours, ...]


def listed_price(pricing: Json) -> Price | None:
    """The table of a listing's `pricing`, `None` where it gives no price of tokens."""
    if not isinstance(pricing, Mapping):
        return None
    rates, found = _rates(pricing), _overrides(pricing.get("overrides"))
    if rates == Rates():
        return None
    return Price(rates=rates, tiers=found.tiers, off_peak=found.hours, source=SOURCE)


def _rates(prices: Mapping[str, Json]) -> Rates:
    return Rates(
        input=_dollars(prices.get("prompt")),
        cached=_dollars(prices.get("input_cache_read")),
        write=_dollars(prices.get("input_cache_write")),
        write_long=_dollars(prices.get("input_cache_write_1h")),
        output=_dollars(prices.get("completion")),
    )


def _dollars(value: Json) -> float | None:
    """Listings give dollars per token, as decimal text; below zero means that it varies."""
    try:
        amount = Decimal(str(value)) * 1_000_000
    except InvalidOperation:
        return None
    return float(amount) if amount.is_finite() and 0 <= amount <= _DEAREST else None


def _overrides(listed: Json) -> _Overrides:
    """An entry holds where all its conditions do: one on the prompt's length is a tier, one on the
    hour is hours. One on both, or on days of the week, has no place in a table, and is left out.
    """
    tiers, hours = [], []
    for entry in listed if isinstance(listed, list) else []:
        if not isinstance(entry, Mapping) or (rates := _rates(entry)) == Rates():
            continue
        conditions = {name for name in _CONDITIONS if entry.get(name) is not None}
        if conditions == {"min_prompt_tokens"} and (above := _whole(entry["min_prompt_tokens"])):
            tiers.append(Tier(above, rates))
        elif conditions == {"utc_start", "utc_end"}:
            start, end = _minute(entry["utc_start"]), _minute(entry["utc_end"])
            if start is not None and end is not None:
                hours.append(Hours(start, end, rates))
    return _Overrides(tuple(tiers), tuple(hours))


def _minute(clock: Json) -> int | None:
    """The minute of the day that 1030 means."""
    whole = _whole(clock)
    if whole is None or whole % 100 >= 60:
        return None
    minute = whole // 100 * 60 + whole % 100
    return minute if minute <= _DAY else None


def _whole(value: Json) -> int | None:
    """A whole number that is not below zero, as listings write it: 200000 or 200000.0."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e12:
        return None
    return int(value) if value == int(value) else None
