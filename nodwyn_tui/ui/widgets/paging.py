"""Pages of a story that is too long to be told at once: which one to ask for, and how it comes in
without moving what is being read (PERF-3). Who asks for it is `story_pane.py`.
"""

from collections.abc import Callable, Sequence

from nodwyn_tui.link.events import PageLoaded
from nodwyn_tui.ui.widgets.entry_list import Edge, Splice
from nodwyn_tui.ui.widgets.lines import Line
from nodwyn_tui.ui.widgets.story import Story
from nodwyn_tui.ui.widgets.viewport import Place, Viewport

Moved = Callable[[Place], Place | None]
"""Where a place is since entries came or went; `None` if it went with them."""
Rows = Sequence[tuple[Place, Line]]
"""What is on the screen."""


class Paging:
    """One story's gap, and on which side of it the person is: pages come in on that side, and what
    is on that side of it on the screen stays where it is.
    """

    def __init__(self, story: Story, viewport: Viewport) -> None:
        self._story, self._viewport = story, viewport
        self._above = False
        self._asked: set[Edge] = set()
        self._owed: set[Edge] = set()

    def turn(self, *, above: bool) -> None:
        """The person went to the beginning, or to the end: so this side counts while both are on
        the screen.
        """
        self._above = above

    def wanted(self, rows: Rows) -> Edge | None:
        """What is to be asked for now, once: the gap is less than a page away."""
        gap = self._story.gap
        if gap is None or not rows:
            return None
        if rows[-1][0].entry <= gap:
            self._above = True
        elif rows[0][0].entry >= gap:
            self._above = False
        if self._viewport.rows_to(gap) > self._viewport.height:
            self._asked.clear()
            self._owed.clear()  # what did not come is asked for again when it is near again
            return None
        edge = self._story.edge(above=self._above)
        if edge is None or edge in self._asked:
            return None
        self._asked.add(edge)
        self._owed.add(edge)
        return edge

    def say_late(self, edge: Edge) -> bool:
        """What was asked for a while ago has not come: let the gap say so. Whether it does."""
        gap = self._story.gap
        if gap is None or edge not in self._owed:
            return False
        self._story.is_late = True
        self._viewport.changed(gap)
        return True

    def fill(self, page: PageLoaded) -> Moved | None:
        """Put a page in; `None` if it does not fit any more."""
        self._owed.discard(Edge(page.before, page.after))
        y, held = self._held(self._viewport.rows())
        change = self._story.fill(page)
        if change is None:
            return None
        moved = self._splice(change)
        kept = moved(held)
        if kept is not None and (self._above or not self._viewport.following):
            self._viewport.put(kept, y)
        return moved

    def let_go(self) -> Moved | None:
        """While the end of a very long story is followed, let go of what is far from it."""
        change = self._story.entries.let_go() if self._viewport.following else None
        return self._splice(change) if change else None

    def _splice(self, change: Splice) -> Moved:
        moved = self._viewport.splice(change)
        if self._story.gap is not None:
            self._viewport.changed(self._story.gap)
        return moved

    def _held(self, rows: Rows) -> tuple[int, Place]:
        """A row of the screen that stays, and what is there: the first, or below the gap the last,
        since what begins right behind it may begin one row later then.
        """
        if self._above or not rows:
            return 0, self._viewport.top()
        return len(rows) - 1, rows[-1][0]
