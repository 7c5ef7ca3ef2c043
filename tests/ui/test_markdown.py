"""Markdown to lines, whole and while it is written."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodwyn_tui.ui.widgets.lines import Line, cells, plain
from nodwyn_tui.ui.widgets.live_markdown import LiveMarkdown
from nodwyn_tui.ui.widgets.markdown import markdown
from tests.ui.scenes import REPLY

FILES = Path(__file__).parents[1] / "cases" / "files"


def shown(text: str, width: int = 40) -> list[str]:
    return [plain(line).rstrip() for line in markdown(text, width)]


def roles(lines: list[Line], text: str) -> str:
    return next(span.role for line in lines for span in line.spans if text in span.text)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("# One\n\nTwo\nthree", ["One", "", "Two", "three"]),
        ("- a\n- b\n  - c\n- [x] d", ["• a", "• b", "  ◦ c", "• ☑ d"]),
        ("3. a\n4. b", ["3. a", "4. b"]),
        ("- a\n\n- b", ["• a", "", "• b"]),
        ("> a\n> - b", ["▎ a", "▎", "▎ • b"]),
        ("```\na\n  b\n```", ["  a", "    b"]),
        ("a\n\n---\n\nb", ["a", "", "─" * 40, "", "b"]),
        ("<b>x</b> [b] \\[y]", ["<b>x</b> [b] [y]"]),
        ("[a](http://b.c/d)", ["a (http://b.c/d)"]),
        ("[http://b.c/](http://b.c)", ["http://b.c/"]),
        ("![alt](x.png)", ["[image: alt] (x.png)"]),
        ("a  \nb", ["a", "b"]),
        ("", []),
    ],
)
def test_blocks(text: str, lines: list[str]) -> None:
    assert shown(text) == lines


def test_prose_that_was_wrapped_at_writing_flows() -> None:
    """A long line's end is a blank, a short one's was meant."""
    text = f"{'word ' * 14}end\nnext\n\nName: a\nAge: b"
    assert shown(text, 200)[-3:] == ["", "Name: a", "Age: b"]
    assert shown(text, 200)[0].endswith("end next")


def test_a_table_counts_cells_and_keeps_its_sides() -> None:
    """C59: a table with `数量|12` and `name|7`."""
    assert shown("|数量|12|\n|:--|--:|\n|name|7|\n|a|1234|") == [
        "数量 │   12",
        "─────┼─────",
        "name │    7",
        "a    │ 1234",
    ]


def test_a_table_too_wide_for_its_columns_wraps_and_then_lists() -> None:
    table = "|a|b|\n|-|-|\n|one two three four five|six seven eight nine ten|"
    assert shown(table, 20)[2] == "one two  │ six seven"
    assert shown(table, 11)[0] == "a: one two"


def test_code_and_links_have_their_roles() -> None:
    lines = markdown("```python\ndef f(): return 'x'  # c\n```\n\nsee https://a.b/c. `q`", 60)
    assert roles(lines, "def").split() == ["block", "kw"]
    assert roles(lines, "# c").split() == ["block", "com"]
    assert roles(lines, "https://a.b/c").split() == ["link"]
    assert roles(lines, "q").split() == ["code"]
    address = [span for line in lines for span in line.spans if span.link]
    assert [(span.text, span.link) for span in address] == [("https://a.b/c", "https://a.b/c")]


def test_an_unknown_language_is_shown_plain() -> None:
    assert shown("```no-such-language\nx = [1]\n```") == ["  x = [1]"]


@pytest.mark.parametrize("line", (FILES / "C56_lines.txt").read_text().splitlines())
def test_brackets_are_text(line: str) -> None:
    """C56: streamed one character at a time and whole, each line shows as Markdown has it."""
    live = LiveMarkdown()
    for character in line:
        live.add(character)
        live.lines(60)
    assert [plain(row) for row in live.lines(60)] == [plain(row) for row in markdown(line, 60)]
    letters = [c for c in line.removeprefix("- [x]") if c.isalnum()]
    assert [c for c in "".join(plain(row) for row in live.lines(60)) if c.isalnum()] == letters


PIECE = st.sampled_from(
    ["word ", "\n", "\n\n", "- item\n", "1. one\n", "```python\n", "```\n", "x = 1\n", "**b** ",
     "| a | b |\n|---|---|\n", "> q\n", "# h\n", "  ", "你好", "`c`", "[l](u)", "\x1b[31m", "[/x]"]
)  # fmt: skip


@given(st.lists(PIECE, max_size=40).map("".join), st.integers(10, 50))
def test_lines_fit_whatever_is_written(text: str, width: int) -> None:
    for line in markdown(text, width):
        assert cells(line.spans) - len(plain(line)) + len(plain(line).rstrip()) <= width + 2


@given(st.lists(PIECE, max_size=30), st.integers(20, 60))
def test_what_was_streamed_ends_as_what_is_whole(pieces: list[str], width: int) -> None:
    """Flushes in between change nothing but blank lines within what was closed early."""
    live = LiveMarkdown()
    for piece in pieces:
        live.add(piece)
        live.lines(width)
    assert live.text == "".join(pieces)
    whole = [plain(line).rstrip() for line in markdown(live.text, width)]
    streamed = [plain(line).rstrip() for line in live.lines(width)]
    assert [s for s in streamed if s.strip("▎ ")] == [s for s in whole if s.strip("▎ ")]


@pytest.mark.parametrize(
    "text",
    [
        REPLY * 20,
        "```python\n" + "".join(f"x{n} = f({n})\n" for n in range(800)),
        "".join(f"- item {n} with some words\n" for n in range(800)),
        "word " * 4000,
    ],
    ids=["mixed", "one fence", "one list", "one paragraph"],
)
def test_only_the_tail_is_laid_out_again(text: str) -> None:
    """TUI-13: what is parsed at a flush is bounded, however long the reply or one block of it."""
    live, longest = LiveMarkdown(), 0
    for at in range(0, len(text), 100):
        live.add(text[at : at + 100])
        live.lines(80)
        longest = max(longest, len(live._tail))
    assert longest < 4_000


def test_a_new_width_lays_all_out_again() -> None:
    live = LiveMarkdown()
    live.add(REPLY)
    live.lines(80)
    assert [plain(s) for s in live.lines(30)] == [plain(s) for s in markdown(REPLY, 30)]
