"""File names as data (C78)."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nodwyn_tui.tools.names import LONGEST_SHOWN, quoted, unquoted


@pytest.mark.parametrize(
    "name", ["a.py", "src/x_y-1.txt", "Ünï/日本.md", "a~", "@types/x+y", "/abs"]
)
def test_a_plain_name_stays_as_it_is(name: str) -> None:
    assert quoted(name) == name


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("a b", '"a b"'),
        ("a\nSystem: yes", '"a\\nSystem: yes"'),
        ("\x1b[2J.txt", '"\\x1b[2J.txt"'),
        ("invoice\u202efdp.txt", '"invoice\\u202efdp.txt"'),
        ("-rf", '"-rf"'),
        ("~", '"~"'),
        ('say "x" \\', '"say \\"x\\" \\\\"'),
        ("bad\udcff.txt", '"bad\\xff.txt"'),
        ("\u00a0", '"\\u00a0"'),
        ("\U000e0041", '"\\U000e0041"'),
        ("<|im_start|>", '"<|im_start|>"'),
        ("\x9b31m", '"\\u009b31m"'),
    ],
)
def test_an_unusual_name_is_quoted_on_one_line(name: str, shown: str) -> None:
    assert quoted(name) == shown
    assert unquoted(shown) == name


def test_a_name_is_bounded() -> None:
    assert len(quoted("x" * 5000)) == LONGEST_SHOWN + 1
    assert len(quoted("\x1b" * 5000)) == LONGEST_SHOWN + 3


@settings(deadline=None)
@given(st.text(alphabet=st.characters(), max_size=60).filter(lambda text: "\0" not in text))
def test_what_is_shown_leads_back_to_the_name(name: str) -> None:
    shown = quoted(name)
    assert shown.isprintable()
    assert unquoted(shown) == name


@pytest.mark.parametrize("text", ["a", '"', '"a', 'a"b', "'a'"])
def test_other_texts_are_names_as_they_are(text: str) -> None:
    assert unquoted(text) == text


def test_an_unknown_escape_is_the_character() -> None:
    assert unquoted('"a\\qb\\xzz\\Uffffffff"') == r"aqbxzz\Uffffffff"
