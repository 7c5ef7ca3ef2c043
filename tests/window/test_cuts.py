"""A cut result names what it leaves out (ENG-17)."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodwyn_tui.domain.parts import Call
from nodwyn_tui.window import cuts
from nodwyn_tui.window.cuts import Source
from nodwyn_tui.window.entries import size
from tests.builders import LogBuilder, texts


def cut(text: str, cap: int, source: Source) -> str | None:
    """What is shown of `text`; `None` if it fits as it is."""
    return None if cuts.fits(text, cap) else cuts.cut(text, cap, source)


def test_result_within_the_cap_stays_as_it_is() -> None:
    assert cut("short", 400, Source(seq=3)) is None


def test_cut_at_line_ends_names_the_lines_of_the_result() -> None:
    text = "\n".join(f"line {number}" for number in range(1, 1001))
    shown = cut(text, 400, Source(seq=7))
    assert shown is not None
    match = re.search(r"\[lines (\d+)-(\d+) of 1000 of this result left out; .*i:7.*\]", shown)
    assert match is not None
    first, last = int(match[1]), int(match[2])
    lines = shown.split("\n")
    at = lines.index(match[0])
    assert lines[:at] == [f"line {n}" for n in range(1, first)]
    assert lines[at + 1 :] == [f"line {n}" for n in range(last + 1, 1001)]


@pytest.mark.parametrize(
    ("header", "shift", "total"), [("", 0, 1000), ("[lines 501-1500 of 9000]\n", 500, 9000)]
)
def test_cut_read_is_phrased_as_the_read_that_brings_it_back(
    header: str, shift: int, total: int
) -> None:
    """Lines of the file: from 1, or from the ranged read's own header."""
    text = header + "\n".join(f"code {shift + number}" for number in range(1, 1001))
    shown = cut(text, 400, Source(seq=7, read_path='a "b".py'))
    assert shown is not None
    match = re.search(
        r"\[lines (\d+)-(\d+) of (\d+) left out; fs-read (\{.*\}) shows them\]", shown
    )
    assert match is not None
    assert json.loads(match[4]) == {
        "path": 'a "b".py',
        "start": int(match[1]),
        "end": int(match[2]),
    }
    assert int(match[3]) == total
    lines = shown.split("\n")
    at = lines.index(match[0])
    assert lines[at - 1] == f"code {int(match[1]) - 1}"
    assert lines[at + 1] == f"code {int(match[2]) + 1}"


def test_line_end_at_the_end_begins_no_line() -> None:
    shown = cut("x = 1\n" * 1_000, 400, Source(seq=7, read_path="a.py"))
    assert shown is not None
    assert " of 1000 left out" in shown


def test_read_whose_first_line_does_not_fit_is_read_again_from_it() -> None:
    """The header is no line of the file."""
    text = "[lines 50-90 of 90; " + "a long note " * 60 + "]\n" + "\n".join(["code"] * 41)
    shown = cut(text, 200, Source(seq=7, read_path="a.py"))
    assert shown is not None
    assert shown.startswith("[lines 50-")


def test_long_path_does_not_take_a_cut_over_the_cap() -> None:
    shown = cut("x = 1\n" * 1_000, 400, Source(seq=7, read_path="deep/" * 100))
    assert shown is not None
    assert size(json.dumps(shown).encode()) <= 400


def test_result_without_line_ends_keeps_a_marker_by_size() -> None:
    shown = cut("€" * 5_000, 400, Source(seq=9))
    assert shown is not None
    assert re.search(r"about \d+ tokens left out; .*i:9", shown)
    assert shown.startswith("€€")
    assert shown.endswith("€€")


@given(
    st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=3_000),
    st.integers(100, 300),
)
def test_cut_is_within_the_cap_and_deterministic(text: str, cap: int) -> None:
    shown = cut(text, cap, Source(seq=1))
    assert shown == cut(text, cap, Source(seq=1))
    final = text if shown is None else shown
    assert size(json.dumps(final, ensure_ascii=False).encode()) <= cap
    assert (shown is None) == (size(json.dumps(text, ensure_ascii=False).encode()) <= cap)


def test_long_fold_of_a_read_names_its_own_lines() -> None:
    """ENG-21: they are none of the file's."""
    log = LogBuilder(max_result_tokens=200, task_header="")
    log.reply(Call("a", "fs-read", '{"path":"a.py"}'))
    log.fold(log.result("a", "x = 1", name="fs-read").seq, "in short\n" * 300)
    text = texts(log.window())[1]
    assert "of 300 of this result left out; session_history" in text
    assert "fs-read {" not in text


def test_file_read_is_allowed_twice_the_cap() -> None:
    """Recipe 19."""
    log = LogBuilder(high_water=90_000, low_water=50_000)
    log.user()
    text = "\n".join(f"{number:5} x = {number}" for number in range(1, 120))
    log.reply(Call("a", "fs-read", '{"path":"a.py"}'), Call("b", "shell", "{}"))
    log.result("a", text, name="fs-read")
    log.result("b", text)
    entries = {entry.seq: entry for entry in log.window().entries if entry.kind == "result"}
    assert [entry.state for entry in entries.values()] == ["in", "cut"]
    log.recipe = LogBuilder(version=18, high_water=90_000, low_water=50_000).recipe
    assert [e.state for e in log.window().entries if e.kind == "result"] == ["cut", "cut"]
