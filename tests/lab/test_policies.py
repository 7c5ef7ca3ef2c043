"""Policies: their names, what they change of a recipe, and what is refused by name."""

import pytest

from nodwyn_tui.errors import UsageError
from nodwyn_tui.lab.policies import LabPolicy, recipe_versions
from tests.builders import recipe

ALL = [1, 2, 6, 7, 8, 9, 10, 12, 14, 15, 16, 17, 18, 19, 20]


def test_name_says_what_is_changed() -> None:
    assert LabPolicy().name == "recorded"
    assert LabPolicy(recipe=16, high=60_000, folds=False).name == "recipe=16,high=60000,folds=off"


@pytest.mark.parametrize(
    ("words", "versions"),
    [
        ("16", [16]),
        ("1, 16,20", [1, 16, 20]),
        ("1..20", ALL),
        ("recorded,2..8", [None, 2, 6, 7, 8]),
    ],
)
def test_recipes_are_a_version_a_list_or_a_range(words: str, versions: list[int | None]) -> None:
    """A range has the documented ones."""
    assert recipe_versions(words) == versions


@pytest.mark.parametrize("words", ["", "x", "1..", "1.5", "..20"])
def test_other_words_are_no_recipe(words: str) -> None:
    with pytest.raises(UsageError, match="--recipe takes"):
        recipe_versions(words)


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        (LabPolicy(recipe=3), "recipe version 3 is not documented"),
        (LabPolicy(strategy="rollover", high=9), "'rollover' --high changes nothing"),
        (LabPolicy(strategy="rollover", low=9), "'rollover' --low changes nothing"),
        (LabPolicy(strategy="rollover", folds=True), "'rollover' --folds changes nothing"),
        (LabPolicy(strategy="trim", threshold=0.6), "--threshold changes nothing but under"),
        (LabPolicy(threshold=0.6), "--threshold changes nothing but under"),
        (LabPolicy(strategy="rollover", recipe=16), "16 knows no windows that begin anew"),
        (LabPolicy(strategy="guess"), "there is no strategy 'guess'; there are: trim"),
        (LabPolicy(order="middle"), "there is no order 'middle'; there are: each_request"),
        (LabPolicy(high=5, low=5), r"low mark \(5\) must be below the high one \(5\)"),
    ],
)
def test_what_cannot_be_folded_is_refused_by_name(policy: LabPolicy, words: str) -> None:
    """ENG-9, ENG-30: never folded as something else."""
    with pytest.raises(UsageError, match=words):
        policy.check()


def test_what_can_be_folded_passes() -> None:
    LabPolicy(recipe=20, strategy="trim", order="off", high=9, low=8).check()
    LabPolicy(strategy="compact").check()
    LabPolicy(strategy="rollover", threshold=0.6, cap=900, folds=False, order="off").check()


def test_nothing_set_changes_nothing() -> None:
    assert LabPolicy(strategy="trim").recipe_for(recipe()) == recipe()
    assert LabPolicy(strategy="compact").recipe_for(recipe()) == recipe(strategy="compact")


def test_high_mark_brings_its_low_one() -> None:
    """ENG-18: an unset low mark stands half-way between the prefix and the high one."""
    made = LabPolicy(high=1_800).recipe_for(recipe()).window
    assert made.high_water == 1_800
    assert 900 < made.low_water < 1_100
    assert made.max_result_tokens == recipe().window.max_result_tokens


def test_low_mark_alone_keeps_the_high_one() -> None:
    made = LabPolicy(low=700).recipe_for(recipe()).window
    assert (made.high_water, made.low_water) == (2_000, 700)


def test_marks_over_the_ceiling_follow_the_formula() -> None:
    """ENG-18: as they would in a session."""
    made = LabPolicy(high=90_000).recipe_for(recipe()).window
    assert made.high_water == 2_250


def test_a_window_that_is_left_has_its_ceiling_for_a_high_mark() -> None:
    """ROL-6; as trimmed, one that was left has the formula's (ENG-18)."""
    rolled = LabPolicy(strategy="rollover").recipe_for(recipe())
    assert (rolled.window.high_water, rolled.window.low_water) == (3_000, 1_000)
    early = LabPolicy(strategy="rollover", threshold=0.5)
    assert early.recipe_for(recipe()).window.threshold == 0.5
    assert early.name == "threshold=0.5,strategy=rollover"
    assert LabPolicy(high=900).recipe_for(rolled).window.high_water == 3_000
    for strategy in ("trim", "compact"):
        back = LabPolicy(strategy=strategy).recipe_for(rolled)
        assert (back.window.high_water, back.window.low_water) == (2_250, 1_000)
    assert LabPolicy(strategy="trim", high=1_800).recipe_for(rolled).window.high_water == 1_800


def test_version_and_cap_are_set() -> None:
    made = LabPolicy(recipe=16, cap=111).recipe_for(recipe())
    assert (made.version, made.window.max_result_tokens) == (16, 111)
