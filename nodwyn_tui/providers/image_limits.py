"""What a provider takes of images in one request, known before it is asked. A stored image is
within every limit for a single one (`store/pictures.py`); this is about many.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple


class Limits(NamedTuple):
    """The most images of a request, and the most characters of their base64 together."""

    images: int
    characters: int


_LIMITS: Mapping[str, Limits] = {
    "anthropic": Limits(100, 28_000_000),  # a request may have 32 MB, its text counted too
    "ollama": Limits(1_000, 500_000_000),
}
_OTHERS = Limits(250, 45_000_000)


def too_many(provider: str, sizes: Sequence[int]) -> int:
    """How many of the oldest images a request must leave out; `sizes` are the files' bytes, oldest
    first.
    """
    limits, kept, total = _LIMITS.get(provider, _OTHERS), 0, 0
    for size in reversed(sizes):
        total += (size + 2) // 3 * 4
        if kept == limits.images or total > limits.characters:
            break
        kept += 1
    return len(sizes) - kept
