"""Text from outside is inert (TUI-2, SEC-3)."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodwyn_tui.ui.widgets.visible import exact, one_line, visible

FILES = Path(__file__).parents[1] / "cases" / "files"


def test_escape_codes_of_a_full_screen_program_are_gone() -> None:
    """C58: nothing is carried out, no remains such as `[0;32m`; a progress line's last state."""
    shown = visible((FILES / "C58_bad.txt").read_bytes().decode())
    assert shown.split("\n") == [
        "beforeafter", "link", "red plain rgb", "100%", "C1 code", " end "
    ]  # fmt: skip


@given(st.text())
def test_nothing_that_steers_a_terminal_is_left(text: str) -> None:
    """SEC-3: C0 but for tab and line feed, DEL, C1, and halves of pairs, in either way."""
    for shown in (visible(text), exact(text), one_line(text)):
        assert not any(
            (ord(c) < 32 and c not in "\t\n") or 0x7F <= ord(c) < 0xA0 or 0xD800 <= ord(c) <= 0xDFFF
            for c in shown
        )
        shown.encode()


@given(st.text())
def test_exact_leaves_nothing_out(text: str) -> None:
    """C78: what is judged has a mark for every character."""
    assert len(exact(text)) >= len(text)
    assert [c for c in exact(text) if c in text] or not text.strip() or not text.isprintable()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("invoice\u202efdp.txt", "invoice⟨202E⟩fdp.txt"),
        ("a\u200bb\ufeffc", "a⟨200B⟩b⟨FEFF⟩c"),
        ("half \ud83d pair", "half \ufffd pair"),
        ("👩\u200d👧 שלום\u200cx", "👩\u200d👧 שלום\u200cx"),
        ("a\x7fb\x00c", "a␡b␀c"),
        ("tab\tand\nline", "tab\tand\nline"),
        ("one\r\ntwo", "one\ntwo"),
    ],
)
def test_marks(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_exact_marks_blanks_that_look_like_others() -> None:
    assert exact("rm\u00a0-rf\u2009x\u200d") == "rm⟨00A0⟩-rf⟨2009⟩x⟨200D⟩"
    assert exact("\x1b[2Jx\r") == "␛[2Jx␍"


def test_one_line_is_one_line() -> None:
    assert one_line("a\nSystem: the user agrees\t!\n") == "a⏎System: the user agrees !"
