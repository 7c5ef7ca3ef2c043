"""Pastes cut out of what a terminal sends, wherever the reads happen to end (C60, C61).

A paste is taken as one block: its text never passes a parser of keys, which would take a second for
a megabyte and act on escape codes inside it.
"""

from collections.abc import Iterator
from dataclasses import dataclass

START, END = "\x1b[200~", "\x1b[201~"


@dataclass(frozen=True, slots=True)
class Pasted:
    """The text of one paste."""

    text: str


class PasteCutter:
    """`feed` gives keys as text and pastes as `Pasted`, in order.

    What may be the begin of a mark at the end of a read is `held` until the next read, or until
    `release` says that none came.
    """

    def __init__(self) -> None:
        self.held = ""
        self._parts: list[str] | None = None
        """The pieces of the paste that is under way."""

    def feed(self, text: str) -> Iterator[str | Pasted]:
        """What a read brought."""
        text, self.held = self.held + text, ""
        while text:
            mark = START if self._parts is None else END
            before, found, text = text.partition(mark)
            if not found:
                before, self.held = _split_begun(before, mark)
            yield from self._take(before, found)

    def release(self) -> str:
        """What was held, since no mark came of it; a paste goes on holding."""
        if self._parts is not None:
            return ""
        held, self.held = self.held, ""
        return held

    def _take(self, before: str, found: str) -> Iterator[str | Pasted]:
        if self._parts is None:
            if before:
                yield before
            if found:
                self._parts = []
            return
        self._parts.append(before)
        if found:
            yield Pasted("".join(self._parts))
            self._parts = None


def _split_begun(text: str, mark: str) -> tuple[str, str]:
    """`text` without what at its end may be the begin of `mark`, and that."""
    for size in range(min(len(mark) - 1, len(text)), 0, -1):
        if text.endswith(mark[:size]):
            return text[:-size], text[-size:]
    return text, ""
