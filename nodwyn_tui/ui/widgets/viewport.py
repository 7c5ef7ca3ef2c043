"""Which rows of a long story are on the screen. Entries are laid out when they are about to be
seen; heights of the others are estimates, and what is on the screen never jumps when one is
corrected.

The truth is an anchor (entry, row in it) at the top of the screen, or "following" the end.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol

from nodwyn_tui.ui.widgets.entry_list import Splice
from nodwyn_tui.ui.widgets.heights import Heights
from nodwyn_tui.ui.widgets.lines import BLANK, Line

_KEPT = 64
"""Entries that stay laid out; more only where more are on the screen."""
_EXACT_PAGES = 3
"""A longer move goes by estimates instead of laying out all that it crosses."""


class Source(Protocol):
    """What is shown: entries by index."""

    def __len__(self) -> int: ...

    def estimate(self, index: int, width: int) -> int:
        """Rows that an entry will take, about."""
        ...

    def lay_out(self, index: int, width: int) -> list[Line]:
        """An entry's rows."""
        ...


class Place(NamedTuple):
    """A row of an entry."""

    entry: int
    row: int


class Viewport:
    """A window of `height` rows on a source, `width` cells wide."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.width, self.height = 80, 24
        self.following = True
        self.laid_out = 0
        """How many layouts were made, for tests: it follows what is seen, not what there is."""
        self._anchor = Place(0, 0)
        self._heights = Heights()
        self._lines: OrderedDict[int, list[Line]] = OrderedDict()

    def resize(self, width: int, height: int) -> None:
        """A new size. Heights of what is not seen stay as they are, as estimates."""
        if width != self.width:
            self._lines.clear()
        self.width, self.height = max(width, 1), max(height, 1)

    def reset(self) -> None:
        """The source holds another story now; go to its end."""
        self._lines.clear()
        self._heights = Heights()
        self.following, self._anchor = True, Place(0, 0)
        self.sync(0)

    def sync(self, kept: int) -> None:
        """The entries before index `kept` are as they were; the source has others after them."""
        while len(self._heights) > kept:
            self._heights.pop()
            self._lines.pop(len(self._heights), None)
        for index in range(len(self._heights), len(self.source)):
            self._heights.append(self.source.estimate(index, self.width))

    def splice(self, change: Splice) -> Callable[[Place], Place | None]:
        """The source has other entries in its midst now. Gives where a place is since then, `None`
        if it is gone; `put` one of them back where it was on the screen.
        """
        at, removed, added = change
        behind, after = at + removed, at + added
        estimates = [self.source.estimate(index, self.width) for index in range(at, after)]
        grew = -self._heights[behind] if behind < len(self._heights) else 0
        self._heights.splice(at, removed, estimates)
        self._lines = OrderedDict(
            (index if index < at else index + added - removed, lines)
            for index, lines in self._lines.items()
            if not at <= index <= behind
        )
        if after < len(self._heights):  # another one above it: it may begin with a blank line now
            grew += len(self.lines(after))

        def moved(place: Place) -> Place | None:
            if place.entry < at:
                return place
            if place.entry < behind:
                return None
            row = max(place.row + grew, 0) if place.entry == behind else place.row
            return Place(place.entry + added - removed, row)

        self._anchor = moved(self._anchor) or Place(at, 0)
        return moved

    def changed(self, index: int) -> None:
        """An entry looks different now."""
        self._lines.pop(index, None)

    def lines(self, index: int) -> list[Line]:
        """An entry's rows, laid out if they are not yet."""
        lines = self._lines.get(index)
        if lines is None:
            self.laid_out += 1
            lines = self.source.lay_out(index, self.width) or [BLANK]
            self._lines[index] = lines
            self._heights[index] = len(lines)
            if len(self._lines) > max(_KEPT, 2 * self.height):
                self._lines.popitem(last=False)
        else:
            self._lines.move_to_end(index)
        return lines

    def rows(self) -> list[tuple[Place, Line]]:
        """What is on the screen from the top; fewer than `height` rows if there is no more."""
        rows: list[tuple[Place, Line]] = []
        for place, line in self._from(self.top()):
            if len(rows) == self.height:
                break
            rows.append((place, line))
        return rows

    def top(self) -> Place:
        """The row at the top of the screen."""
        if not len(self._heights):
            return Place(0, 0)
        if self.following:
            return self._back(self._end(), self.height)
        index = min(self._anchor.entry, len(self._heights) - 1)
        row = min(self._anchor.row, max(len(self.lines(index)) - 1, 0))
        last_top = self._back(self._end(), self.height) if self._ends_near(index) else None
        if last_top is not None and last_top <= (index, row):
            return last_top
        return Place(index, row)

    def hold(self) -> None:
        """Keep what is at the top there, whatever comes below."""
        self._anchor = self.top()
        self.following = False

    def scroll(self, rows: int, wall: int | None = None) -> None:
        """Move down by so many rows, or up; at the end, follow it from then on. What is beyond the
        entry `wall` does not come into view, if it is not there already.
        """
        start = top = self.top()
        if abs(rows) > _EXACT_PAGES * self.height:
            top = Place(*self._heights.find(self.offset + rows))
        elif rows < 0:
            top = self._back(top, -rows)
        else:
            below = (place for n, (place, _) in enumerate(self._from(top)) if n == rows)
            top = next(below, self._end())
        self._settle(top if wall is None else self._stopped(start, top, wall))

    def put(self, place: Place, y: int) -> None:
        """Bring a row to row `y` of the screen."""
        self._settle(self._back(place, y))

    def go_to(self, offset: int) -> None:
        """Put the row at `offset`, by estimates, to the top."""
        self._settle(Place(*self._heights.find(offset)))

    def show(self, index: int, *, end: bool = False) -> None:
        """Bring an entry into view, as little moved as can be; if it is too long for the screen,
        its beginning, or its `end`.
        """
        first, after = Place(index, 0), Place(index, len(self.lines(index)))
        bottom = self._back(after, self.height)
        if first < self.top() and not (end and bottom > first):
            self._settle(first)
        elif bottom > self.top() or (end and bottom > first):
            self._settle(bottom if end else min(bottom, first))

    def go_to_end(self) -> None:
        """Follow the end from now on."""
        self.following = True

    def rows_to(self, index: int) -> int:
        """Rows between the screen and an entry, as far as known; 0 if it is on the screen."""
        top, begin = self.offset, self._heights.above(index)
        return max(begin - (top + self.height), top - begin - self._heights[index], 0)

    @property
    def offset(self) -> int:
        """Rows above the screen, as far as known."""
        top = self.top()
        return self._heights.above(min(top.entry, len(self._heights))) + top.row

    @property
    def total(self) -> int:
        """All rows, as far as known."""
        return self._heights.total()

    def _settle(self, top: Place) -> None:
        self.following, self._anchor = False, top
        if self._ends_near(top.entry) and self._back(self._end(), self.height) <= top:
            self.following = True

    def _stopped(self, start: Place, top: Place, wall: int) -> Place:
        """Where a move from `start` to `top` ends that may not cross a wall."""
        if start.entry >= wall:
            return max(top, Place(wall, 0))
        if wall - top.entry > self.height:
            return top
        last = self._back(Place(wall, len(self.lines(wall))), self.height)
        return min(top, last) if start <= last else top

    def _ends_near(self, index: int) -> bool:
        """Whether the end may be on the screen if entry `index` is at its top."""
        return len(self._heights) - index <= self.height + 1

    def _end(self) -> Place:
        last = len(self._heights) - 1
        return Place(last, len(self.lines(last)))

    def _back(self, place: Place, rows: int) -> Place:
        """The place so many rows above another, or the first."""
        index, row = place
        row -= rows
        while row < 0 and index > 0:
            index -= 1
            row += len(self.lines(index))
        return Place(index, max(row, 0))

    def _from(self, place: Place) -> Iterator[tuple[Place, Line]]:
        index, start = place
        while index < len(self._heights):
            lines = self.lines(index)
            for row in range(start, len(lines)):
                yield Place(index, row), lines[row]
            index, start = index + 1, 0
