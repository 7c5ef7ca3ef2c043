"""Pastes out of what a terminal sends, wherever the reads end (C60, C61)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodwyn_tui.cli.pastes import END, START, PasteCutter, Pasted


def cut(chunks: list[str]) -> list[str | Pasted]:
    """What comes of these reads; keys that follow each other joined."""
    cutter, out = PasteCutter(), []
    for piece in [p for chunk in chunks for p in cutter.feed(chunk)] + [cutter.release()]:
        if isinstance(piece, str) and out and isinstance(out[-1], str):
            out[-1] += piece
        elif piece:
            out.append(piece)
    return out


STREAM = f"ab\x1b[A{START}one\x1b[31m\r[200~\x1b{END}c\x1b{START}two中{END}\x1b[20"
WHOLE = ["ab\x1b[A", Pasted("one\x1b[31m\r[200~\x1b"), "c\x1b", Pasted("two中"), "\x1b[20"]


@given(st.lists(st.integers(1, 9)))
def test_any_split_gives_the_same(sizes: list[int]) -> None:
    chunks, at = [], 0
    for size in sizes:
        chunks.append(STREAM[at : at + size])
        at += size
    assert cut([*chunks, STREAM[at:]]) == WHOLE


@pytest.mark.parametrize("size", [4090, 4095, 4096, 4097, 8192])
@pytest.mark.parametrize("lost", range(len(END) + 1))
def test_pastes_around_a_read_arrive_once_and_whole(size: int, lost: int) -> None:
    """C61: with a three-byte character across the border and the end mark cut after each byte."""
    text = "x" * (size - 2) + "中" + "y"
    stream = START + text + END
    border = len(stream) - len(END) + lost
    assert cut([stream[:4096], stream[4096:border], stream[border:]]) == [Pasted(text)]


def test_an_escape_alone_is_held_until_it_is_released() -> None:
    cutter = PasteCutter()
    assert list(cutter.feed("a\x1b")) == ["a"]
    assert cutter.held == "\x1b"
    assert cutter.release() == "\x1b"
    assert cutter.held == ""


def test_nothing_of_an_open_paste_is_released() -> None:
    cutter = PasteCutter()
    assert list(cutter.feed(f"{START}text\x1b[20")) == []
    assert cutter.release() == ""
    assert list(cutter.feed("1~")) == [Pasted("text")]
