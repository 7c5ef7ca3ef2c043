"""Heights of the transcript's entries, so that the row of an entry and the entry at a row are found
in logarithmic time among 50,000 (a Fenwick tree).
"""

from collections.abc import Iterable


class Heights:
    """How many rows each entry takes, known or estimated."""

    def __init__(self, heights: Iterable[int] = ()) -> None:
        self._heights = list(heights)
        self._sums = _sums(self._heights)

    def __len__(self) -> int:
        return len(self._heights)

    def __getitem__(self, index: int) -> int:
        return self._heights[index]

    def __setitem__(self, index: int, height: int) -> None:
        change = height - self._heights[index]
        self._heights[index] = height
        at = index + 1
        while change and at < len(self._sums):
            self._sums[at] += change
            at += at & -at

    def append(self, height: int) -> None:
        """One more entry at the end."""
        self._heights.append(height)
        at = len(self._heights)
        total, below = height, at - 1
        while below > at - (at & -at):
            total += self._sums[below]
            below -= below & -below
        self._sums.append(total)

    def pop(self) -> None:
        """Take the last entry away."""
        self._heights.pop()
        self._sums.pop()

    def splice(self, at: int, removed: int, heights: Iterable[int]) -> None:
        """From entry `at` on, put others in the place of `removed` ones; takes time with all."""
        self._heights[at : at + removed] = heights
        self._sums = _sums(self._heights)

    def above(self, index: int) -> int:
        """Rows before entry `index`; with the number of entries, all rows."""
        total = 0
        while index:
            total += self._sums[index]
            index -= index & -index
        return total

    def total(self) -> int:
        """All rows."""
        return self.above(len(self._heights))

    def find(self, row: int) -> tuple[int, int]:
        """The entry at a row, and the row within it; past the end, the last entry's end."""
        index, step = 0, 1 << len(self._heights).bit_length()
        rest = max(row, 0)
        while step := step >> 1:
            if index + step < len(self._sums) and self._sums[index + step] <= rest:
                index += step
                rest -= self._sums[index]
        if index == len(self._heights):
            return max(index - 1, 0), self._heights[-1] if self._heights else 0
        return index, rest


def _sums(heights: list[int]) -> list[int]:
    sums = [0, *heights]
    for at in range(1, len(sums)):
        if (above := at + (at & -at)) < len(sums):
            sums[above] += sums[at]
    return sums
