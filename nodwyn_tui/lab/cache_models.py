"""What servers' prompt caches hold, as they document it: four models, asked request by request.

No entry expires here, and every session begins with an empty cache.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from nodwyn_tui.lab.prompts import FIXED, Piece, Prompt

LEAST = 1_024
"""Tokens below which hosted caches hold nothing."""
BLOCK = 128
LOOK_BACK = 20
LATEST = 80


@dataclass(frozen=True, slots=True)
class Read:
    """Tokens of a prompt that came from the cache, and those that were written to it at a price."""

    cached: int
    written: int = 0


class CacheModel(Protocol):
    """A cache that one session's requests go through, in order."""

    def read(self, prompt: Prompt) -> Read:
        """What the cache holds of a prompt; it holds the prompt itself from then on."""
        ...


class KvSlot:
    """The KV prefix of one slot: what the prompt shares with the last one to the same model, token
    by token, as llama.cpp and Ollama keep it.
    """

    def __init__(self) -> None:
        self._held: dict[str, Prompt] = {}

    def read(self, prompt: Prompt) -> Read:
        """See `CacheModel`."""
        held = self._held.get(prompt.origin)
        self._held[prompt.origin] = prompt
        if held is None or held.path[0] != prompt.path[0]:
            return Read(0)
        whole = 0
        for was, now in zip(held.path[1:], prompt.path[1:], strict=False):
            if was != now:
                break
            whole += 1
        return Read(prompt.reading(whole, held.pieces[whole : whole + 1]))


class Blocks:
    """Automatic: the longest prefix of any earlier prompt, in steps of 128 tokens, from 1,024 on;
    writing costs nothing.
    """

    def __init__(self) -> None:
        self._after: dict[int, dict[int, Piece]] = defaultdict(dict)
        """The pieces that followed a path, by the path they made."""

    def read(self, prompt: Prompt) -> Read:
        """See `CacheModel`."""
        whole = 0
        while (
            whole < len(prompt.pieces) and prompt.path[whole + 1] in self._after[prompt.path[whole]]
        ):
            whole += 1
        rivals = tuple(self._after[prompt.path[whole]].values())
        cached = prompt.reading(whole, rivals) // BLOCK * BLOCK
        for at in range(whole, len(prompt.pieces)):
            self._after[prompt.path[at]][prompt.path[at + 1]] = prompt.pieces[at]
        return Read(cached if cached >= LEAST else 0)


class Breakpoints:
    """Explicit: entries at the marks that a request bears (`Marks`); each mark finds an entry at
    most 20 content blocks before it. Writes are billed.
    """

    def __init__(self) -> None:
        self._entries: set[int] = set()
        self._marks = Marks()

    def read(self, prompt: Prompt) -> Read:
        """See `CacheModel`."""
        marks = [mark for mark in self._marks.of(prompt) if prompt.ends[mark] >= LEAST]
        cached = max((self._found(prompt, mark) for mark in marks), default=0)
        self._entries.update(prompt.path[mark] for mark in marks)
        return Read(cached, _written(prompt, marks, cached))

    def _found(self, prompt: Prompt, mark: int) -> int:
        """Tokens of the longest entry that a mark reaches."""
        for at in range(mark, 0, -1):
            if prompt.blocks[mark] - prompt.blocks[at] > LOOK_BACK:
                break
            if prompt.path[at] in self._entries:
                return min(prompt.ends[at], prompt.total - 1)
        return 0


class ImplicitBreakpoints:
    """Entries at breakpoints only: the last three of `Marks`, each before the replies it would end
    on, and an implicit one on the newest message, which is not asked for where rows go with the
    request. The longest of the latest 80 entries that the prompt begins with is read; writes are
    billed.
    """

    def __init__(self) -> None:
        self._entries: dict[int, None] = {}
        self._marks = Marks()

    def read(self, prompt: Prompt) -> Read:
        """See `CacheModel`."""
        marks = sorted({_before_replies(prompt, mark) for mark in self._marks.of(prompt)})
        marks = marks if prompt.goes else sorted({*marks[-3:], len(prompt.pieces)})
        marks = [mark for mark in marks if prompt.ends[mark] >= LEAST]
        found = (at for at in range(len(prompt.pieces), 0, -1) if prompt.path[at] in self._entries)
        cached = min(prompt.ends[next(found, 0)], prompt.total - 1)
        for mark in marks:
            self._entries.pop(prompt.path[mark], None)  # written again, it is the latest
            self._entries[prompt.path[mark]] = None
        for oldest in list(self._entries)[:-LATEST]:
            del self._entries[oldest]
        return Read(cached, _written(prompt, marks, cached))


class Marks:
    """Where requests bear explicit breakpoints (ORD-6): at the end of Region A, at the previous
    history marker and at the current one; half-way between these where more blocks came than a mark
    looks back on.
    """

    def __init__(self) -> None:
        self._previous: dict[tuple[str, int], int] = {}

    def of(self, prompt: Prompt) -> list[int]:
        """The marks as counts of pieces, in order."""
        marks = {FIXED}
        key = (prompt.origin, prompt.ctx)
        if prompt.history:
            previous = self._place_of(self._previous.get(key), prompt)
            self._previous[key] = prompt.pieces[prompt.history - 1].seq
            marks |= {previous, prompt.history}
            gap = prompt.blocks[prompt.history] - prompt.blocks[previous]
            if gap > LOOK_BACK:
                middle = prompt.blocks[previous] + gap // 2
                marks.add(
                    next(
                        at
                        for at in range(previous, len(prompt.path))
                        if prompt.blocks[at] >= middle
                    )
                )
        return sorted(marks)

    def _place_of(self, seq: int | None, prompt: Prompt) -> int:
        """Where the former marker stands now; the end of Region A if its row is gone."""
        for at in range(prompt.history, FIXED, -1):
            if prompt.pieces[at - 1].seq == seq:
                return at
        return FIXED


def _before_replies(prompt: Prompt, mark: int) -> int:
    """The last place before a mark behind which no reply ends."""
    while prompt.pieces[mark - 1].replied:
        mark -= 1
    return mark


def _written(prompt: Prompt, marks: list[int], cached: int) -> int:
    return max(prompt.ends[marks[-1]] - cached, 0) if marks else 0


CACHE_MODELS: Mapping[str, Callable[[], CacheModel]] = {
    "kv-slot": KvSlot,
    "blocks-128": Blocks,
    "breakpoints": Breakpoints,
    "breakpoints-implicit": ImplicitBreakpoints,
}
"""The models by the name that `--cache-model` takes."""
