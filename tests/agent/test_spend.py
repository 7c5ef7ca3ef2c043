"""What replies cost by the price table (PRV-10)."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from nodwyn_tui.agent.spend import price_of, priced
from nodwyn_tui.config.schema import PriceSettings
from nodwyn_tui.domain.usage import Usage

PRICE = PriceSettings(input=2.0, cached=0.2, write=2.5, write_long=4.0, output=10.0)
MILLION = 1_000_000


NOON = datetime(2026, 11, 29, 12, tzinfo=UTC)


def cost(price: PriceSettings = PRICE, when: datetime = NOON, **counts: int) -> float | None:
    usage = Usage(**{"output_tokens": 0, **counts})
    return priced(usage, price_of(price, "config.toml"), when).cost_usd


@pytest.mark.parametrize(
    ("counts", "dollars"),
    [
        ({"prompt_tokens": MILLION}, 2.0),
        ({"prompt_tokens": MILLION, "cached_tokens": MILLION}, 0.2),
        ({"prompt_tokens": MILLION, "cache_write_tokens": MILLION}, 2.5),
        (
            {
                "prompt_tokens": MILLION,
                "cache_write_tokens": MILLION,
                "cache_write_long_tokens": MILLION // 2,
            },
            3.25,
        ),
        ({"prompt_tokens": 0, "output_tokens": MILLION}, 10.0),
    ],
)
def test_each_kind_of_token_has_its_price(counts: dict[str, int], dollars: float) -> None:
    assert cost(**counts) == pytest.approx(dollars)


def test_a_price_that_is_not_set_is_the_nearest_one() -> None:
    """Long writes as short ones, and both as input."""
    written = {
        "prompt_tokens": MILLION,
        "cache_write_tokens": MILLION,
        "cache_write_long_tokens": MILLION,
    }
    assert cost(PriceSettings(input=2.0, write=2.5), **written) == pytest.approx(2.5)
    assert cost(PriceSettings(input=2.0), **written) == pytest.approx(2.0)


def test_what_is_unknown_costs_an_unknown_sum() -> None:
    table = price_of(PRICE, "")
    assert priced(Usage(output_tokens=1), table, NOON).cost_usd is None
    assert priced(Usage(prompt_tokens=1, output_tokens=1), None, NOON).cost_usd is None
    told = priced(Usage(prompt_tokens=1, output_tokens=1, cost_usd=7.0), table, NOON)
    assert (told.cost_usd, told.cost_from) == (7.0, "reported")


def test_a_rate_that_nobody_names_makes_an_unknown_sum() -> None:
    """PRV-10: unknown, never free; where no such token was used it does not matter."""
    no_output = PriceSettings(input=2.0)
    assert cost(no_output, prompt_tokens=MILLION, output_tokens=1) is None
    assert cost(no_output, prompt_tokens=MILLION) == pytest.approx(2.0)
    assert cost(PriceSettings(output=5.0), prompt_tokens=1) is None


LONG = PriceSettings(
    input=2.0,
    cached=0.2,
    output=10.0,
    tiers=[
        {"above": 272_000, "input": 4.0, "output": 15.0},
        {"above": 500_000, "input": 8.0},
    ],
)


@pytest.mark.parametrize(
    ("prompt", "dollars"),
    [
        (272_000, 0.272 * 2 + 10),
        (272_001, 0.272001 * 4 + 15),
        (500_000, 0.5 * 4 + 15),
        (600_000, 0.6 * 8 + 15),
    ],
)
def test_a_long_prompt_has_its_tier_for_all_of_it(prompt: int, dollars: float) -> None:
    """PRV-10: what a tier does not name is as in the one below."""
    assert cost(LONG, prompt_tokens=prompt, output_tokens=MILLION) == pytest.approx(dollars)


def test_what_a_tier_does_not_name_stays() -> None:
    counts = {"prompt_tokens": 300_000, "cached_tokens": 300_000}
    assert cost(LONG, **counts) == pytest.approx(0.3 * 0.2)


NIGHT = PriceSettings(
    input=2.0, output=10.0, off_peak=[{"start": "16:30", "end": "00:30", "input": 1.0}]
)


@pytest.mark.parametrize(
    ("hour", "minute", "dollars"),
    [(16, 29, 2.0), (16, 30, 1.0), (23, 59, 1.0), (0, 29, 1.0), (0, 30, 2.0), (12, 0, 2.0)],
)
def test_off_peak_hours_are_of_the_utc_day(hour: int, minute: int, dollars: float) -> None:
    """PRV-10: over midnight too, whatever zone the clock is in."""
    when = NOON.replace(hour=hour, minute=minute).astimezone(timezone(timedelta(hours=-7)))
    assert cost(NIGHT, when, prompt_tokens=MILLION) == pytest.approx(dollars)
