"""What replies cost."""

from collections.abc import Iterable
from dataclasses import asdict, fields, replace
from datetime import datetime
from typing import Any

from nodwyn_tui.config.schema import PriceSettings, RateSettings
from nodwyn_tui.domain.price import Hours, Price, Rates, Tier
from nodwyn_tui.domain.usage import Usage


def priced(usage: Usage, price: Price | None, when: datetime) -> Usage:
    """The usage with its cost in US dollars: as reported, else by the price table, else unknown
    (PRV-10).
    """
    if usage.cost_usd is not None:
        return replace(usage, cost_from="reported")
    cost = price.cost(usage, when) if price else None
    return usage if cost is None else replace(usage, cost_usd=cost, cost_from="table")


def price_of(settings: PriceSettings, source: str) -> Price:
    """A price table as the settings have it."""
    return Price(
        rates=_rates(settings),
        tiers=tuple(Tier(tier.above, _rates(tier)) for tier in settings.tiers),
        off_peak=tuple(
            Hours(_minute(hours.start), _minute(hours.end), _rates(hours))
            for hours in settings.off_peak
        ),
        source=source,
    )


def _rates(settings: RateSettings) -> Rates:
    return Rates(**{field.name: getattr(settings, field.name) for field in fields(Rates)})


def _minute(time: str) -> int:
    hour, _, minute = time.partition(":")
    return int(hour) * 60 + int(minute)


def total(costs: Iterable[float | None]) -> float | None:
    """The sum of what is known; `None` if nothing is."""
    known = [value for value in costs if value is not None]
    return sum(known) if known else None


def summed(usages: Iterable[Usage]) -> Usage:
    """The usage of several replies: each figure the sum of those that reported it, else `None`."""
    figures: dict[str, Any] = {}
    for usage in usages:
        for name, value in asdict(usage).items():
            if isinstance(value, int | float):
                figures[name] = figures.get(name, 0) + value
    return Usage(**figures)
