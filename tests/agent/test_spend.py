"""What replies cost by the price table (PRV-10)."""

import pytest

from nodwyn_tui.agent.spend import priced
from nodwyn_tui.config.schema import PriceSettings
from nodwyn_tui.domain.usage import Usage

PRICE = PriceSettings(input=2.0, cached=0.2, write=2.5, write_long=4.0, output=10.0)
MILLION = 1_000_000


def cost(price: PriceSettings = PRICE, **counts: int) -> float | None:
    return priced(Usage(**{"output_tokens": 0, **counts}), price).cost_usd


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
    assert priced(Usage(output_tokens=1), PRICE).cost_usd is None
    assert priced(Usage(prompt_tokens=1, output_tokens=1), None).cost_usd is None
    told = priced(Usage(prompt_tokens=1, output_tokens=1, cost_usd=7.0), PRICE)
    assert (told.cost_usd, told.cost_from) == (7.0, "reported")
