"""Text in cells: cutting, spreading, wrapping."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from nodwyn_tui.ui.widgets.lines import (
    Line,
    Span,
    cells,
    clip,
    cut,
    cut_text,
    expand_tabs,
    plain,
    spread,
    wrap,
)

PIECES = [*"ab cdé你好한글 \u3000אב\u00a0\u202f-", "e\u0301", "👩\u200d👧", "👍🏽"]
TEXT = st.lists(st.sampled_from(PIECES), max_size=60).map("".join)
SPANS = st.lists(TEXT, max_size=5).map(
    lambda texts: [Span(t, f"r{n}") for n, t in enumerate(texts)]
)


@given(SPANS, st.integers(2, 30))
def test_rows_are_never_wider_than_asked_for(spans: list[Span], width: int) -> None:
    """C59: wrapping counts cells; two is the least that a wide character needs."""
    assert all(cells(row) <= width for row in wrap(spans, width))


@given(SPANS, st.integers(2, 30))
def test_whole_rows_put_together_are_the_text(spans: list[Span], width: int) -> None:
    """But for an indent that is wider than the row."""
    text = "".join(s.text for s in spans)
    indent = text[: len(text) - len(text.lstrip())]
    rows = "".join(s.text for row in wrap(spans, width, whole=True) for s in row)
    assert rows == (text if cell_len(indent) < width else text.lstrip()) or not text.strip()


@given(SPANS, st.integers(2, 30))
def test_wrapping_loses_only_blanks_and_keeps_roles(spans: list[Span], width: int) -> None:
    def bare(parts: list[Span]) -> list[tuple[str, str]]:
        return [(c, s.role) for s in parts for c in s.text if not c.isspace()]

    assert bare([s for row in wrap(spans, width) for s in row]) == bare(spans)


@given(SPANS, st.integers(0, 30))
def test_a_cut_fits_and_says_that_it_is_one(spans: list[Span], width: int) -> None:
    kept = cut(spans, width)
    assert cells(kept) <= width
    if kept != tuple(spans) and width:
        assert "".join(s.text for s in kept).endswith("…")


@given(TEXT, st.integers(0, 30))
def test_cut_text_fits(text: str, width: int) -> None:
    assert cell_len(cut_text(text, width)) <= width


@given(SPANS, SPANS, st.integers(4, 40))
def test_spread_fills_or_fits(left: list[Span], right: list[Span], width: int) -> None:
    assert cells(spread(left, right, width)) <= width


@pytest.mark.parametrize(
    ("text", "width", "rows"),
    [
        ("hello world foo", 7, ["hello", "world", "foo"]),
        ("你好abc測試", 6, ["你好", "abc測", "試"]),
        ("    indented code wraps", 13, ["    indented", "code wraps"]),
        ("x" * 9, 4, ["xxxx", "xxxx", "x"]),
        ("", 4, [""]),
        (" " * 9, 4, [""]),
    ],
)
def test_rows_break_where_a_reader_expects(text: str, width: int, rows: list[str]) -> None:
    assert ["".join(s.text for s in row).rstrip() for row in wrap([Span(text)], width)] == rows


def test_clip_counts_cells() -> None:
    line = Line((Span("你好", "a"), Span("abc")))
    assert plain(line) == "你好abc"
    assert clip(line, 2, 5) == "好a"
    assert clip(line, 4, None) == "abc"


def test_tabs_stop_at_multiples_of_four() -> None:
    assert expand_tabs("a\tb\n\tc你\td") == "a   b\n    c你 d"
