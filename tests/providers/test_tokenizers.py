"""Counting by real encodings, from tables that come with the program."""

import base64
import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import tiktoken_ext.openai_public
from hypothesis import given, settings
from hypothesis import strategies as st

from nodwyn_tui.providers import tokenizers
from nodwyn_tui.providers.encodings import EncodingName
from nodwyn_tui.providers.tokenizers import CHUNK, SLACK, Tokenizer, load

ROOT = Path(__file__).parents[2]
NAMES: tuple[EncodingName, ...] = ("o200k_base", "cl100k_base")
LOADED: dict[str, Tokenizer] = {}


def loaded(name: EncodingName) -> Tokenizer:
    """Once in all tests: each takes its quarter of a second."""
    if name not in LOADED:
        tokenizer = load(name)
        assert tokenizer is not None
        LOADED[name] = tokenizer
    return LOADED[name]


@pytest.mark.parametrize("name", NAMES)
def test_an_encoding_is_what_tiktoken_says_it_is(
    name: EncodingName, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ROL-6: the digest of its table and its pattern, by the library's own facts."""
    asked: list[str] = []

    def table(url: str, expected_hash: str) -> dict[bytes, int]:
        asked.append(expected_hash)
        return {b"a": 0}

    monkeypatch.setattr(tiktoken_ext.openai_public, "load_tiktoken_bpe", table)
    facts = tiktoken_ext.openai_public.ENCODING_CONSTRUCTORS[name]()
    ours = tokenizers._ENCODINGS[name]
    assert (ours.pattern, [ours.digest]) == (facts["pat_str"], asked)
    harmony = tiktoken_ext.openai_public.o200k_harmony()
    assert harmony["pat_str"] == tokenizers._ENCODINGS["o200k_base"].pattern


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("hello world", 2),
        ("<|endoftext|>", 7),
        ("<|start|>system<|message|>", 11),
        ("\N{GRINNING FACE}", 1),
        ("\0\N{REPLACEMENT CHARACTER}", 2),
    ],
)
def test_known_counts(text: str, tokens: int) -> None:
    """What looks like a special token is text: as many tokens as its letters make."""
    assert loaded("o200k_base").count(text) == tokens


@pytest.mark.parametrize("name", NAMES)
@settings(deadline=None, max_examples=50)
@given(text=st.text(max_size=400))
def test_short_texts_count_exactly(name: EncodingName, text: str) -> None:
    """Never more than a token a byte, and never fewer than a token for the longest there is."""
    tokenizer = loaded(name)
    assert tokenizer.count(text) == len(tokenizer.encode(text)) <= len(text.encode())


PIECES = (
    "a", "aB", " ", "\n", " \n", "the ", "é", "文字", "\N{GRINNING FACE}", "e\u0301", "'s", "17",
    "/", "!=", "\t", "กข", "\u200d", "<|endoftext|>", "def f(self):\n    ", '{"a": ',
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
@settings(deadline=None, max_examples=100)
@given(
    pieces=st.lists(st.sampled_from(PIECES), min_size=1, max_size=6),
    seed=st.integers(0, 2**16),
    cut=st.floats(0, 1),
)
def test_a_cut_hides_no_more_than_is_allowed_for(
    name: EncodingName, pieces: list[str], seed: int, cut: float
) -> None:
    """ROL-6: a text in two has at most `SLACK` tokens fewer than the whole."""
    chance = random.Random(seed)
    text = "".join(chance.choices(pieces, k=200))
    at = round(len(text) * cut)
    count = loaded(name).count
    assert count(text) <= count(text[:at]) + count(text[at:]) + SLACK


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("piece", ["wörd ", "文字", "\N{GRINNING FACE}", "x = [1, 2]\n", "ab"])
def test_long_texts_count_a_little_more(name: EncodingName, piece: str) -> None:
    """ROL-6: in pieces of whole code points; never under the real count, and over by the slack."""
    tokenizer = loaded(name)
    text = piece * (3 * CHUNK // len(piece))
    real = len(tokenizer.encode(text))
    assert real <= tokenizer.count(text) <= min(real + 3 * (SLACK + 4), len(text.encode()))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("piece", ["a", " ", "\n", "!", "文", "\N{GRINNING FACE}", "ab", "e\u0301"])
def test_two_million_of_anything_take_no_time(name: EncodingName, piece: str) -> None:
    """ROL-6: no text takes longer than its length is worth, or ends the process."""
    tokenizer = loaded(name)
    text = piece * (2_000_000 // len(piece.encode()))
    began = time.monotonic()
    assert 0 < tokenizer.count(text) <= 2_000_000
    assert time.monotonic() - began < 10  # a quarter of a second, where nothing else runs


@pytest.mark.parametrize("error", [ValueError("no"), RuntimeError("stack")])
def test_an_encoding_that_fails_counts_a_token_a_byte(error: Exception) -> None:
    """ROL-6: the most that there can be."""

    def fails(text: str) -> list[int]:
        raise error

    assert Tokenizer(fails).count("文\ud800") == 6


DAMAGED: list[Callable[[bytes], bytes]] = [
    lambda data: b"",
    lambda data: data[:-9],
    lambda data: data[:1000] + b"\0\0" + data[1002:],
    base64.b64encode,
]


@pytest.mark.parametrize("damage", DAMAGED)
def test_a_damaged_table_is_none(
    damage: Callable[[bytes], bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A table is what its digest says, or is not used at all."""
    folder = ROOT / "nodwyn_tui" / "data"
    file = "tokenizers/cl100k_base.tiktoken.gz"
    (tmp_path / "tokenizers").mkdir()
    (tmp_path / file).write_bytes(damage((folder / file).read_bytes()))
    monkeypatch.setattr(tokenizers.resources, "files", lambda package: tmp_path)
    assert load("cl100k_base") is None


def test_nothing_is_fetched_and_nothing_is_written(tmp_path: Path) -> None:
    """ROL-6: with no network, and no folder for a cache."""
    folder = tmp_path / "cache"
    folder.mkdir(mode=0o500)
    probe = (
        "import os, socket, sys\n"
        "def refuse(*_, **__): raise SystemExit('the network was asked')\n"
        "socket.socket.connect = socket.create_connection = socket.getaddrinfo = refuse\n"
        "from nodwyn_tui.providers.tokenizers import load\n"
        "counts = [load(name).count('hello world') for name in ('o200k_base', 'cl100k_base')]\n"
        "assert counts == [2, 2], counts\n"
        "assert not {'requests', 'urllib3'} & set(sys.modules)\n"
    )
    environment = {"TIKTOKEN_CACHE_DIR": str(folder), "TMPDIR": str(folder), "PATH": ""}
    done = subprocess.run(
        [sys.executable, "-c", probe], cwd=ROOT, env=environment, check=False, timeout=60
    )
    assert done.returncode == 0
    assert list(folder.iterdir()) == []


def test_tiktoken_waits_for_the_first_count() -> None:
    """PERF-1: a worker starts without it."""
    probe = "import sys, nodwyn_tui.wiring; sys.exit('tiktoken' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", probe], cwd=ROOT, check=False, timeout=60)
    assert done.returncode == 0


def test_the_tables_come_with_their_licences() -> None:
    text = (ROOT / "nodwyn_tui" / "data" / "tokenizers" / "LICENSE").read_text()
    assert "litellm" in text
    assert text.count("MIT License") == 2
