"""Figures of something that takes a while."""

import pytest

from nodwyn_tui.domain.progress import Pace, duration, figures, size


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (98_400_000, "98.4 MB"),
        (5_200_000_000, "5.2 GB"),
    ],
)
def test_sizes(count: int, text: str) -> None:
    assert size(count) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.2, "1 s"), (59, "59 s"), (200, "3 min"), (7800, "2 h 10 min")]
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_pace_is_that_of_late_and_begins_anew() -> None:
    """TUI-6: no pace is told before there is one, nor one of what is long over."""
    pace = Pace()
    assert pace.bytes_a_second == 0
    pace.see(0, 10.0)
    assert pace.bytes_a_second == 0
    pace.see(2000, 12.0)
    assert pace.bytes_a_second == 1000
    for second in range(13, 30):
        pace.see(2000, second)
    assert pace.bytes_a_second == 0
    pace.see(0, 31.0)
    assert pace.bytes_a_second == 0


def test_the_last_figures_want_a_pace() -> None:
    assert list(figures(1_300_000, 5_200_000, 0)) == ["1.3 MB of 5.2 MB", "25%"]
    assert list(figures(0, 100, 10)) == ["0 B of 100 B", "0%", "10 B/s", "10 s left"]
    assert list(figures(0, 0, 0)) == ["0 B of 0 B", "0%"]
