"""What of a long story is on the screen: nothing jumps, and little is laid out (TUI-13)."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodwyn_tui.ui.widgets.lines import Line, Span, plain
from nodwyn_tui.ui.widgets.viewport import Place, Viewport


class Story:
    """Entries of given heights, whose estimates are wrong."""

    def __init__(self, heights: list[int], wrong_by: int = 0) -> None:
        self.heights, self.wrong_by = heights, wrong_by

    def __len__(self) -> int:
        return len(self.heights)

    def estimate(self, index: int, width: int) -> int:
        return max(1, self.heights[index] + (self.wrong_by if index % 2 else -self.wrong_by))

    def lay_out(self, index: int, width: int) -> list[Line]:
        return [Line((Span(f"{index}.{row}"),)) for row in range(self.heights[index])]


def viewport(heights: list[int], height: int = 10, wrong_by: int = 0) -> Viewport:
    made = Viewport(Story(heights, wrong_by))
    made.resize(40, height)
    made.reset()
    return made


def shown(view: Viewport) -> list[str]:
    return [plain(line) for _, line in view.rows()]


def all_rows(heights: list[int]) -> list[str]:
    return [f"{n}.{row}" for n, height in enumerate(heights) for row in range(height)]


HEIGHTS = st.lists(st.integers(1, 7), min_size=1, max_size=40)


@given(HEIGHTS, st.integers(1, 12))
def test_it_opens_at_the_end_and_follows_it(heights: list[int], height: int) -> None:
    view = viewport(heights, height)
    assert shown(view) == all_rows(heights)[-height:]
    view.source.heights.append(3)  # type: ignore[attr-defined]
    view.sync(len(heights) - 1)
    assert shown(view) == all_rows(heights)[-height:]


@given(HEIGHTS, st.integers(1, 12), st.lists(st.integers(-20, 20), max_size=12))
def test_moves_are_exact_whatever_was_estimated(
    heights: list[int], height: int, moves: list[int]
) -> None:
    """Each row on the screen is the one that stands there in the whole story."""
    view, rows = viewport(heights, height, wrong_by=3), all_rows(heights)
    last = max(len(rows) - height, 0)
    top = last
    for move in moves:
        if abs(move) > 3 * height:
            continue
        top = min(max(top + move, 0), last)
        view.scroll(move)
        assert shown(view) == rows[top : top + height]
        assert view.following == (top == last)


@given(HEIGHTS, st.integers(2, 10), st.integers(0, 200))
def test_parked_rows_stay_while_the_story_grows(heights: list[int], height: int, up: int) -> None:
    """0 moved lines while parked under a stream, and while entries above get other heights."""
    view = viewport(heights, height, wrong_by=2)
    view.scroll(-min(up, 3 * height))
    if view.following:
        return
    before = shown(view)
    story = view.source.heights  # type: ignore[attr-defined]
    for _ in range(3):
        story.append(4)
        view.sync(len(story) - 1)
        story[-1] += 2
        view.changed(len(story) - 1)
        assert shown(view) == before


def test_ten_thousand_entries_lay_out_what_is_seen() -> None:
    """Counts, not times: layouts follow the screen, not the story."""
    few, many = viewport([2] * 10), viewport([2] * 50_000)
    few.rows()
    many.rows()
    assert many.laid_out <= few.laid_out <= 10
    many.go_to(40_000)
    many.rows()
    assert many.laid_out <= 30
    for _ in range(200):
        many.scroll(-8)
        many.rows()
    assert many.laid_out <= 30 + 200 * 8 // 2 + 20
    assert len(many._lines) <= 64


def test_pages_after_a_jump_have_no_gap() -> None:
    rng = random.Random(1)
    heights = [rng.randint(1, 30) for _ in range(2000)]
    view, rows = viewport(heights, 20, wrong_by=9), all_rows(heights)
    for _ in range(30):
        view.go_to(rng.randrange(view.total))
        at = rows.index(shown(view)[0])
        for _ in range(5):
            view.scroll(-18)
            at = max(at - 18, 0)
            assert shown(view) == rows[at : at + 20]


@pytest.mark.parametrize(("index", "top"), [(2, "2.0"), (0, "0.0"), (19, "16.1")])
def test_show_moves_as_little_as_it_can(index: int, top: str) -> None:
    view = viewport([3] * 20)
    view.show(index)
    assert shown(view)[0] == ("16.2" if index == 19 else top)
    view.show(index)
    assert f"{index}.0" in shown(view)
    assert f"{index}.2" in shown(view)


def test_show_of_a_long_entry_begins_at_its_begin_or_end() -> None:
    view = viewport([3, 40, 3])
    view.show(1)
    assert shown(view)[0] == "1.0"
    view.show(1, end=True)
    assert shown(view)[-1] == "1.39"


def test_an_entry_that_shrinks_at_the_top_keeps_its_place() -> None:
    view = viewport([3, 40, 30])
    view.go_to(20)
    view.source.heights[1] = 1  # type: ignore[attr-defined]
    view.changed(1)
    assert view.top() == Place(1, 0)


def test_a_narrower_screen_keeps_the_entry_at_the_top() -> None:
    view = viewport([3] * 100)
    view.go_to(100)
    top = view.top()
    view.resize(20, 8)
    assert view.top() == top
