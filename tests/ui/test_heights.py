"""Heights against a plain list."""

from hypothesis import given
from hypothesis import strategies as st

from nodwyn_tui.ui.widgets.heights import Heights

STEPS = st.lists(
    st.tuples(st.sampled_from(["append", "set", "pop"]), st.integers(0, 99), st.integers(1, 9))
)


@given(st.lists(st.integers(1, 9)), STEPS)
def test_sums_and_searches_are_those_of_a_list(
    first: list[int], steps: list[tuple[str, int, int]]
) -> None:
    heights, plain = Heights(first), list(first)
    for step, at, height in steps:
        if step == "append":
            heights.append(height)
            plain.append(height)
        elif plain and step == "set":
            heights[at % len(plain)] = height
            plain[at % len(plain)] = height
        elif plain:
            heights.pop()
            plain.pop()
    assert len(heights) == len(plain)
    assert [heights.above(n) for n in range(len(plain) + 1)] == [
        sum(plain[:n]) for n in range(len(plain) + 1)
    ]
    rows = [(n, row) for n, height in enumerate(plain) for row in range(height)]
    assert [heights.find(row) for row in range(sum(plain))] == rows
