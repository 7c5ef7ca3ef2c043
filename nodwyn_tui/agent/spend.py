"""What replies cost."""

from collections.abc import Iterable
from dataclasses import asdict, replace
from typing import Any

from nodwyn_tui.config.schema import PriceSettings
from nodwyn_tui.domain.usage import Usage

MILLION = 1_000_000


def priced(usage: Usage, price: PriceSettings | None) -> Usage:
    """The usage with its cost in US dollars: as reported, else by the price table, else unknown
    (PRV-10).
    """
    if usage.cost_usd is not None:
        return replace(usage, cost_from="reported")
    if price is None or usage.prompt_tokens is None or usage.output_tokens is None:
        return usage
    cached, written = usage.cached_tokens or 0, usage.cache_write_tokens or 0
    long = min(usage.cache_write_long_tokens or 0, written)
    plain = max(usage.prompt_tokens - cached - written, 0)
    read_price = price.input if price.cached is None else price.cached
    write_price = price.input if price.write is None else price.write
    long_price = write_price if price.write_long is None else price.write_long
    spent = (
        plain * price.input
        + cached * read_price
        + (written - long) * write_price
        + long * long_price
        + usage.output_tokens * price.output
    )
    return replace(usage, cost_usd=spent / MILLION, cost_from="table")


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
