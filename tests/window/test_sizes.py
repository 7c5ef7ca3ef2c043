"""Marks and caps from the model's context (ENG-18)."""

import pytest

from nodwyn_tui.errors import BlockedError
from nodwyn_tui.window.sizes import Wanted, limits


def test_figures_of_the_source_at_a_million_tokens() -> None:
    """High water 774,144 and its cap of 16,128 at 1,048,576 with a reply of 16,384."""
    made = limits(1_048_576, 4_000, Wanted(max_output=16_384), None)
    assert (made.ceiling, made.high_water, made.max_result_tokens) == (1_032_192, 774_144, 16_128)
    assert made.low_water == 4_000 + (774_144 - 4_000) // 2


def test_figures_of_the_source_with_a_long_reply() -> None:
    assert limits(1_000_000, 4_000, Wanted(max_output=128_000), None).high_water == 654_000


def test_reply_is_capped_by_listing_and_by_a_quarter() -> None:
    assert limits(32_768, 1_000, Wanted(), None).output_reserve == 8_192
    assert limits(16_384, 1_000, Wanted(), None).output_reserve == 4_096
    assert limits(100_000, 1_000, Wanted(max_output=9_000), 5_000).output_reserve == 5_000


def test_set_high_water_keeps_the_small_cap_unless_that_is_set_too() -> None:
    kept = limits(1_048_576, 4_000, Wanted(high_water=500_000), None)
    assert (kept.high_water, kept.max_result_tokens) == (500_000, 3_072)
    both = limits(1_048_576, 4_000, Wanted(high_water=500_000, max_result_tokens=9_000), None)
    assert both.max_result_tokens == 9_000


def test_set_marks_over_the_ceiling_shrink_to_the_formula() -> None:
    made = limits(32_768, 2_000, Wanted(high_water=61_440, low_water=30_720), None)
    assert made.ceiling == 24_576
    assert (made.high_water, made.low_water) == (18_432, 2_000 + (18_432 - 2_000) // 2)


def test_small_context_keeps_results_to_an_eighth() -> None:
    made = limits(8_192, 2_000, Wanted(), None)
    assert made.max_result_tokens == (made.ceiling - 2_000) // 8
    assert 2_000 < made.low_water < made.high_water <= made.ceiling


def test_context_that_cannot_hold_the_prefix_is_refused_with_the_figures() -> None:
    with pytest.raises(BlockedError, match=r"2,048.*3,000"):
        limits(2_048, 3_000, Wanted(), None)
