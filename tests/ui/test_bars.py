"""Header, meter, footer, and what a run came to: rows from parts (TUI-3, TUI-16)."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodwyn_tui.domain.figures import tokens
from nodwyn_tui.domain.usage import Usage
from nodwyn_tui.link import events as up
from nodwyn_tui.ui.widgets.activity import summary
from nodwyn_tui.ui.widgets.footer import Footer
from nodwyn_tui.ui.widgets.header import Header, short_path
from nodwyn_tui.ui.widgets.keys import Keys
from nodwyn_tui.ui.widgets.lines import Span, cells, plain
from nodwyn_tui.ui.widgets.meter import KINDS, Meter, bar, facts
from nodwyn_tui.ui.widgets.opening import Opening
from tests.ui.backend import OPENED
from tests.ui.scenes import METER


def text(row: tuple[Span, ...]) -> str:
    return "".join(span.text for span in row)


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (0, "0"),
        (812, "812"),
        (1_000, "1k"),
        (31_234, "31.2k"),
        (99_960, "100k"),
        (1_048_576, "1.05M"),
    ],
)
def test_tokens_for_the_eye(count: int, words: str) -> None:
    assert tokens(count) == words


def test_the_meter_says_how_each_figure_was_got() -> None:
    assert text(facts(METER, 120)) == (
        "31.2k of 66k reported · cached 98%, session 91% · next trim in ~12 steps · $0.04 · 12.3 s"
        " · context 98.3k, configured"
    )
    estimated = replace(METER, source="estimated", cached_reply=None, cost_usd=None)
    assert text(facts(estimated, 90)).startswith(
        "31.2k of 66k estimated · cached unknown, session 91% · next trim in ~12 steps"
    )
    unknown = replace(METER, cached_reply=None, cached_session=None)
    assert "cached unknown · " in text(facts(unknown, 90)), "unknown is not 0 %"
    assert " · prefix warm · " in text(facts(replace(unknown, warm=True), 90))


@pytest.mark.parametrize("width", [10, 40, 58, 78, 200])
def test_what_matters_least_is_left_out_first(width: int) -> None:
    row = text(facts(METER, width))
    assert len(row) <= width or row == "31.2k of 66k reported"
    assert row.startswith("31.2k of 66k reported")


@pytest.mark.parametrize(
    ("width", "words"),
    [
        (78, "3.9k of 6.1k estimated · cached 63%, session 72% · rolls over in ~1 step"),
        (60, "3.9k of 6.1k estimated · cached 63% · rolls over in ~1 step"),
        (58, "3.9k of 6.1k estimated · rolls over in ~1 step"),
        (40, "3.9k of 6.1k estimated"),
    ],
)
def test_a_rollover_is_counted_down_where_there_is_little_room(width: int, words: str) -> None:
    """ROL-3: the countdown stays longer than the shares of the cache do."""
    rolls = replace(
        METER,
        strategy="rollover",
        used=3_900,
        ceiling=6_144,
        source="estimated",
        cached_reply=0.63,
        cached_session=0.72,
        next_event="rolls over in ~1 step",
    )
    assert text(facts(rolls, width)) == words


def test_a_mark_that_the_window_reaches_into_has_no_half_a_name() -> None:
    """TUI-3: the mark alone stays."""
    rolls = replace(METER, strategy="rollover", ceiling=78, low=40, high=60, used=42)
    for used, row in ((41, "┊warn──"), (42, "┊▓────"), (44, "┊▓▓▓──")):
        whole = (up.Segment(kind="history", tokens=used),)
        assert row in text(bar(replace(rolls, segments=whole, used=used), 78))


def test_segments_differ_without_colour_and_none_is_lost() -> None:
    row = text(bar(METER, 78))
    for segment in METER.segments:
        assert KINDS[segment.kind][0] in row
    assert len({glyph for glyph, _ in KINDS.values()}) == len(KINDS)
    assert row.endswith("ceiling")
    assert "┊high" in row


def test_a_window_that_is_left_has_marks_of_its_own() -> None:
    """TUI-3: warn and full, and none where nothing happens by itself."""
    rolls = replace(METER, strategy="rollover", low=39_600, high=49_500)
    row = text(bar(rolls, 78))
    assert "┊warn─" in row
    assert "┊full─" in row
    assert row.index("┊warn") == 39_600 * 78 // 66_000
    assert "┊" not in text(bar(replace(rolls, low=0, high=0), 78))
    assert text(bar(replace(rolls, low=58_000, high=66_000), 78)).endswith("┊──ceiling")


@given(
    st.lists(st.integers(0, 90_000), min_size=6, max_size=6),
    st.integers(1, 100_000),
    st.integers(0, 100_000),
    st.integers(0, 100_000),
    st.integers(8, 200),
)
def test_the_bar_is_as_wide_as_it_is(
    sizes: list[int], ceiling: int, high: int, low: int, width: int
) -> None:
    segments = tuple(
        up.Segment(kind=kind, tokens=size) for kind, size in zip(KINDS, sizes, strict=True)
    )
    state = replace(METER, segments=segments, used=sum(sizes), ceiling=ceiling, high=high, low=low)
    assert cells(bar(state, width)) == width


def header(opened: up.Opened | None, width: int) -> str:
    made = Header()
    made.opened = opened
    [row] = made.bar_rows(width)
    assert cells(row) <= width
    return text(row)


@pytest.mark.parametrize("width", [40, 60, 80, 120, 300])
@pytest.mark.parametrize(
    "model", ["m", "anthropic/claude-sonnet-5.5-with-a-very-long-name" * 3, ""]
)
@pytest.mark.parametrize("path", ["/", "/src/app", "/a/very/long/path/that/goes/on" * 5])
def test_the_header_fits_and_keeps_what_matters(width: int, model: str, path: str) -> None:
    row = header(replace(OPENED, model=model, workspace=path, branch="feature/x"), width)
    assert "nodwyn" in row
    assert (model or "no model")[:8] in row
    if width >= 60 and len(model) < 20:
        assert " ask" in row


def test_the_header_before_a_session_is_open() -> None:
    assert header(None, 80).strip() == "nodwyn  starts…"


def test_the_home_folder_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "home", lambda: Path("/home/me"))
    assert short_path("/home/me/src/app", 40) == "~/src/app"
    assert short_path("/home/me", 40) == "~"
    assert short_path("/home/meme/app", 40) == "/home/meme/app"
    assert short_path("/home/me/src/long/app", 9) == "…long/app"


@given(
    st.lists(st.tuples(st.text("ab", min_size=1), st.text("cd ")), max_size=8), st.integers(1, 90)
)
def test_the_footer_fits(hints: list[tuple[str, str]], width: int) -> None:
    footer = Footer()
    footer._hints = tuple(hints)
    [row] = footer.bar_rows(width)
    assert cells(row) - 3 <= width


def test_a_meter_without_figures_says_so() -> None:
    rows = [text(row) for row in Meter().bar_rows(40)]
    assert rows[1].strip() == "the window is empty"


def test_what_a_run_came_to() -> None:
    ended = up.RunEnded(
        why="interrupted", requests=1, usage=Usage(output_tokens=1_234), changed_files=("a",)
    )
    assert text(summary(ended, 61.0)) == (
        "stopped in 61 s · 1 request · 1.2k tokens written · 1 file changed"
    )


def test_files_that_the_model_is_told_of_stand_at_the_top() -> None:
    """ORD-11, TUI-8: under the folder, a line each, inert."""
    opened = replace(OPENED, instructions=("your AGENTS.md read · 1 line", "CLAUDE.md\x1b[2J read"))
    rows = [plain(line) for line in Opening(opened)(80, Keys())]
    assert rows[3] == "your AGENTS.md read · 1 line"
    assert rows[4].startswith("CLAUDE.md")
    assert "\x1b" not in "".join(rows)


def test_ways_to_a_model_are_told_apart_where_they_wrap() -> None:
    """TUI-6: their points stand alone in the first column."""
    setup = "No model was found.\n\n· Start it and pull a model, then pick it.\n· Or look around."
    rows = [plain(line) for line in Opening(replace(OPENED, model="", setup=setup))(32, Keys())]
    assert rows[-4:] == ["", "· Start it and pull a model,", "  then pick it.", "· Or look around."]
