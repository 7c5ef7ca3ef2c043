"""Counts the tokens of a text by a real encoding, from tables that come with the program: nothing
is ever fetched (ROL-6). Imported only where something is to be counted: it is slow to load.
"""

import base64
import gzip
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from importlib import resources

import tiktoken

from nodwyn_tui.providers.encodings import EncodingName

CHUNK = 16_384
"""Code points that are encoded at once. More in one piece takes a regular expression's stack where
nothing parts it, and blanks by the hundred thousand overflow that."""
SLACK = 16
"""What a cut may hide at most, in tokens: around it the whole text could have been parted worse."""

_LETTERS = r"\p{Lm}\p{Lo}\p{M}"
_UPPER, _LOWER = rf"[\p{{Lu}}\p{{Lt}}{_LETTERS}]", rf"[\p{{Ll}}{_LETTERS}]"
_MARK = r"[^\r\n\p{L}\p{N}]?"
_ENDING = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"


@dataclass(frozen=True, slots=True)
class _Facts:
    """An encoding: the digest of its table, and the pattern that parts a text before its tokens."""

    digest: str
    pattern: str


_ENCODINGS: Mapping[EncodingName, _Facts] = {
    "o200k_base": _Facts(
        "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
        "|".join(
            [
                f"{_MARK}{_UPPER}*{_LOWER}+{_ENDING}",
                f"{_MARK}{_UPPER}+{_LOWER}*{_ENDING}",
                r"\p{N}{1,3}",
                r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
                r"\s*[\r\n]+",
                r"\s+(?!\S)",
                r"\s+",
            ]
        ),
    ),
    "cl100k_base": _Facts(
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
        "|".join(
            [
                r"'(?i:[sdmt]|ll|ve|re)",
                r"[^\r\n\p{L}\p{N}]?+\p{L}++",
                r"\p{N}{1,3}+",
                r" ?[^\s\p{L}\p{N}]++[\r\n]*+",
                r"\s++$",
                r"\s*[\r\n]",
                r"\s+(?!\S)",
                r"\s",
            ]
        ),
    ),
}


@dataclass(frozen=True, slots=True)
class Tokenizer:
    """Counts by an encoding. What looks like one of its special tokens is text like any other."""

    encode: Callable[[str], list[int]]

    def count(self, text: str) -> int:
        """The tokens of a text: exactly up to `CHUNK` code points, else as many or a few more.
        Never more than its bytes in UTF-8, and those where the encoding fails.
        """
        try:
            return self._count(text)
        except (ValueError, RuntimeError):
            return _bytes(text)

    def _count(self, text: str) -> int:
        if len(text) <= CHUNK:
            return len(self.encode(text))
        starts = range(0, len(text), CHUNK)
        total = sum(len(self.encode(text[start : start + CHUNK])) for start in starts)
        return min(total + SLACK * (len(starts) - 1), _bytes(text))


def load(name: EncodingName) -> Tokenizer | None:
    """The tokenizer of an encoding, which takes a quarter of a second; `None` where its table is
    damaged or missing.
    """
    facts = _ENCODINGS[name]
    table = _table(name)
    if sha256(table).hexdigest() != facts.digest:
        return None
    ranks = {base64.b64decode(token): int(rank) for token, rank in _pairs(table)}
    # Without special tokens: what is counted has none, only texts that may look like them.
    encoding = tiktoken.Encoding(
        name, pat_str=facts.pattern, mergeable_ranks=ranks, special_tokens={}
    )
    return Tokenizer(encoding.encode_ordinary)


def _table(name: EncodingName) -> bytes:
    place = resources.files("nodwyn_tui.data") / "tokenizers" / f"{name}.tiktoken.gz"
    try:
        return gzip.decompress(place.read_bytes())
    except (OSError, EOFError, zlib.error):
        return b""


def _pairs(table: bytes) -> list[list[bytes]]:
    return [line.split() for line in table.splitlines()]


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
