"""Clean text from whatever comes (AGT-7)."""

import json
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nodwyn_tui.domain.canonical import clean
from nodwyn_tui.tools.output import Cleaner, cleaned, never_blank, visible
from tests.tools.conftest import CASES


def in_pieces(data: bytes, *cuts: int) -> str:
    cleaner = Cleaner()
    edges = [0, *sorted(cuts), len(data)]
    out = "".join(cleaner.feed(data[a:b]) for a, b in pairwise(edges))
    return out + cleaner.finish()


def test_c58_codes_of_a_file_are_gone() -> None:
    """C58: no code passes, nor a remainder of one; of a progress line the last state stays."""
    text = in_pieces((CASES / "C58_bad.txt").read_bytes())
    assert text == "beforeafter\nlink\nred plain rgb\n100%\nC1 code\n end "
    assert "[" not in text


def test_c54_bytes_that_are_no_text_are_replaced() -> None:
    """C54: a stand-in for each bad byte, half a character at the end too; the rest is there."""
    text = in_pieces((CASES / "C54_raw_output.bin").read_bytes())
    assert text == "caf\ufffd \ufffd\ufffd end\nbad\ufffd.txt\n\ufffd"


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b"10%\r50%\r100%\n", "100%\n"),
        (b"a\r\nb\r\r\n", "a\nb\n"),
        (b"only\r", "only"),
        (b"a\rb", "b"),
        (b"ab\b\bcd\b\n", "c\n"),
        (b"\b\bx\n", "x\n"),
        (b"N\bNA\bA\n", "NA\n"),
        (b"a\0b", "a\ufffdb"),
        (b"\x07\x0b\x0c\x0e\x7f", ""),
        (b"\ta\n", "\ta\n"),
        (b"\x1b]52;c;aaaa\x07x", "x"),
        (b"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        (b"\x1b]0;never ended\nnext", "\nnext"),
        (b"\x1bPsixel\x1b\\\x1b_apc\x1b\\\x1b^pm\x1b\\\x1bXsos\x1b\\.", "."),
        (b"\x1b(Bx\x1b#8\x1bc\x1b=", "x"),
        (b"\x1b[38;5;1", ""),
        (b"\x1b[\x1b[1mx", "x"),
        (b"\x1b[3\n4m", "\n4m"),
        (b"\x1b", ""),
        ("\x9b2Jx\x9d0;t\x9cy".encode(), "xy"),
        ("日本\u200d".encode(), "日本\u200d"),
    ],
)
def test_codes_and_progress(raw: bytes, expected: str) -> None:
    assert in_pieces(raw) == expected


CONTROLS = {chr(code) for code in (*range(0x20), *range(0x7F, 0xA0))}
PIECES = st.lists(
    st.sampled_from(
        [
            *(b"\x1b", b"[", b"]", b"P", b"\\", b"0;t", b"3", b"1m", b"\x07", b"\r", b"\n", b"\b"),
            *(b"abc", b"\0", "é".encode(), b"\xc2", b"\x9b", b"\xff", b"\x18", b" ", b"?25h"),
        ]
    ),
    max_size=30,
)


@settings(deadline=None)
@given(PIECES, st.lists(st.integers(0, 60), max_size=6))
def test_the_pieces_make_no_difference(pieces: list[bytes], cuts: list[int]) -> None:
    """However a stream is cut, the text is that of the whole."""
    data = b"".join(pieces)
    assert in_pieces(data, *(min(cut, len(data)) for cut in cuts)) == in_pieces(data)


@settings(deadline=None)
@given(st.binary(max_size=300))
def test_no_code_ever_passes(data: bytes) -> None:
    text = in_pieces(data)
    assert set(text) & CONTROLS <= {"\n", "\t"}
    assert text == clean(text)


def test_a_string_code_of_any_length_is_dropped() -> None:
    cleaner = Cleaner()
    out = cleaner.feed(b"a\x1bP") + "".join(cleaner.feed(b"q" * 100_000) for _ in range(20))
    assert out + cleaner.feed(b"\x1b\\b\n") == "ab\n"


def test_an_endless_line_is_let_go() -> None:
    """What is held back is bounded, whatever comes."""
    cleaner = Cleaner()
    out = sum(len(cleaner.feed(b"x" * 100_000)) for _ in range(100))
    assert out > 9_900_000
    assert out + len(cleaner.finish()) == 10_000_000


def test_the_unfinished_line_can_be_seen() -> None:
    cleaner = Cleaner()
    cleaner.feed(b"done\n10%\r20%\r")
    assert cleaner.line == "20%"


def test_c55_half_pairs_are_replaced() -> None:
    """C55: results, and half a pair in JSON, become text that can be sent; a whole pair stays."""
    results = json.loads((CASES / "C55_results.json").read_text())["tool_results"]
    texts = [cleaned(text) for text in results]
    assert all(text.encode("utf-8") for text in texts)
    assert texts[0] == "cut here \ufffd"
    assert texts[2] == "pair \U0001f600 ok"
    assert [cleaned(text) for text in texts] == texts
    assert [clean(text) for text in texts] == texts


@pytest.mark.parametrize("text", ["", " \n", "\n\n"])
def test_c17_a_blank_result_says_so(text: str) -> None:
    """C17: no blank text goes to a provider."""
    assert never_blank(text) == "(no output)"


def test_contents_show_their_codes() -> None:
    assert visible("a\x1b[1m\tb\r\x9b\u202e\0\ud83d") == "a\\x1b[1m\tb\\r\\x9b\\u202e\\x00\ufffd"
