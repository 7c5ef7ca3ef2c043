"""What tokens cost: rates by kind of token, by length of the prompt, by the hour (PRV-10). Pure.

Unknown stays unknown, never zero: a reply costs an unknown sum where any of its tokens has no rate.
"""

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime

from nodwyn_tui.domain.usage import Usage

MILLION = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """US dollars per million tokens; `None` where nobody says. `write` is for what is written to a
    cache, `write_long` for what it keeps for the longer time.
    """

    input: float | None = None
    cached: float | None = None
    write: float | None = None
    write_long: float | None = None
    output: float | None = None

    def over(self, other: "Rates") -> "Rates":
        """These, and where one is not there the other's."""
        own = {f.name: v for f in fields(self) if (v := getattr(self, f.name)) is not None}
        return replace(other, **own)

    @property
    def full(self) -> "Rates":
        """With the nearest known rate for caches: a long write costs as a short one, that and a
        read as plain input.
        """
        write = self.input if self.write is None else self.write
        return Rates(
            input=self.input,
            cached=self.input if self.cached is None else self.cached,
            write=write,
            write_long=write if self.write_long is None else self.write_long,
            output=self.output,
        )


@dataclass(frozen=True, slots=True)
class Tier:
    """Other rates for the whole of a request whose prompt has more tokens than `above`."""

    above: int
    rates: Rates


@dataclass(frozen=True, slots=True)
class Hours:
    """Other rates between two minutes of the UTC day; over midnight where `end` comes first."""

    start: int
    end: int
    rates: Rates

    def hold(self, when: datetime) -> bool:
        """Whether they hold at a time."""
        at = when.astimezone(UTC)
        minute = at.hour * 60 + at.minute
        if self.start <= self.end:
            return self.start <= minute < self.end
        return minute >= self.start or minute < self.end


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """A model's price table, and where it is from."""

    rates: Rates
    tiers: tuple[Tier, ...] = ()
    off_peak: tuple[Hours, ...] = ()
    source: str = ""

    def at(self, prompt_tokens: int, when: datetime) -> Rates:
        """The rates of a request. What a tier or an hour does not name is as everywhere else."""
        rates = self.rates
        for tier in sorted(self.tiers, key=lambda tier: tier.above):
            if prompt_tokens > tier.above:
                rates = tier.rates.over(rates)
        for hours in self.off_peak:
            if hours.hold(when):
                rates = hours.rates.over(rates)
        return rates

    def cost(self, usage: Usage, when: datetime) -> float | None:
        """US dollars of a reply, `None` where its counts or a rate that it needs are unknown."""
        if usage.prompt_tokens is None or usage.output_tokens is None:
            return None
        rates = self.at(usage.prompt_tokens, when).full
        cached, written = usage.cached_tokens or 0, usage.cache_write_tokens or 0
        long = min(usage.cache_write_long_tokens or 0, written)
        return _sum(
            (
                (max(usage.prompt_tokens - cached - written, 0), rates.input),
                (cached, rates.cached),
                (written - long, rates.write),
                (long, rates.write_long),
                (usage.output_tokens, rates.output),
            )
        )


def _sum(parts: Iterable[tuple[int, float | None]]) -> float | None:
    total = 0.0
    for tokens, rate in parts:
        if tokens and rate is None:
            return None
        total += tokens * (rate or 0.0)
    return total / MILLION
