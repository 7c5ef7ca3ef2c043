"""Marks and caps from the model's context (ENG-18)."""

import pytest

from nodwyn_tui.errors import BlockedError
from nodwyn_tui.window.sizes import ROOM_FOR_A_MESSAGE, Wanted, limits


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


@pytest.mark.parametrize(
    ("context", "prefix", "high", "low", "cap"),
    [
        (16_384, 2_000, 9_216, 5_608, 1_286),
        (8_192, 2_000, 4_608, 3_304, 518),
        (8_192, 4_000, 4_608, 4_304, 268),
        (4_096, 1_500, 2_304, 1_902, 196),
        (200_001, 3_000, 143_856, 73_428, 3_072),
    ],
)
def test_small_and_odd_contexts_follow_the_formula(
    context: int, prefix: int, high: int, low: int, cap: int
) -> None:
    """ENG-18: three quarters of the ceiling, half-way down to the prefix; rounded down."""
    made = limits(context, prefix, Wanted(), None)
    assert (made.high_water, made.low_water, made.max_result_tokens) == (high, low, cap)


@pytest.mark.parametrize("context", [4_096, 8_192, 16_384, 32_768])
def test_marks_stand_between_the_prefix_and_the_ceiling_whatever_the_prefix(context: int) -> None:
    """ENG-18: also where three quarters of the ceiling would not hold the prefix and a message."""
    ceiling = context - context // 4
    for prefix in range(100, ceiling - ROOM_FOR_A_MESSAGE + 1, 97):
        for wanted in (Wanted(), Wanted(high_water=prefix - 9), Wanted(high_water=10**7)):
            made = limits(context, prefix, wanted, None)
            assert prefix < made.low_water < made.high_water <= made.ceiling == ceiling
            assert 1 <= made.max_result_tokens <= max((ceiling - prefix) // 8, 1)


def test_set_cap_is_kept_unless_the_context_is_small() -> None:
    assert limits(131_072, 2_000, Wanted(max_result_tokens=9_000), None).max_result_tokens == 9_000
    made = limits(8_192, 2_000, Wanted(max_result_tokens=9_000), None)
    assert made.max_result_tokens == (made.ceiling - 2_000) // 8


def test_set_low_water_is_kept_below_the_high_one() -> None:
    assert limits(131_072, 2_000, Wanted(low_water=20_000), None).low_water == 20_000
    made = limits(131_072, 2_000, Wanted(high_water=50_000, low_water=60_000), None)
    assert (made.high_water, made.low_water) == (50_000, 26_000)


@pytest.mark.parametrize(
    ("context", "wanted", "listing", "reply"),
    [
        (131_072, Wanted(max_output=9_000), None, 9_000),
        (131_072, Wanted(output_reserve=4_000), None, 4_000),
        (131_072, Wanted(max_output=9_000, output_reserve=4_000), 8_000, 8_000),
        (131_072, Wanted(max_output=99_000), None, 32_768),
        (131_072, Wanted(max_output=99_000), 200_000, 32_768),
        (4_096, Wanted(), None, 1_024),
    ],
)
def test_reply_cap_is_the_models_else_the_reserve_within_both_limits(
    context: int, wanted: Wanted, listing: int | None, reply: int
) -> None:
    """ENG-18."""
    made = limits(context, 1_000, wanted, listing)
    assert (made.output_reserve, made.ceiling) == (reply, context - reply)


def test_context_that_just_holds_prefix_message_and_reply_is_taken() -> None:
    ceiling = 4_096 - 1_024
    assert limits(4_096, ceiling - ROOM_FOR_A_MESSAGE, Wanted(), None).ceiling == ceiling
    with pytest.raises(BlockedError, match=r"4,096 .*2,817 .*1,024"):
        limits(4_096, ceiling - ROOM_FOR_A_MESSAGE + 1, Wanted(), None)


def test_context_that_cannot_hold_the_prefix_is_refused_with_the_figures() -> None:
    with pytest.raises(BlockedError, match=r"2,048.*3,000"):
        limits(2_048, 3_000, Wanted(), None)
