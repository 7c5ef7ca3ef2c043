"""What the index keeps for a caller who must know something of all events, without knowing what it
is: the start of the window, totals, a transcript's marks. The store interprets no conversation.
"""

from typing import Protocol

from nodwyn_tui.domain.events import Event
from nodwyn_tui.domain.request import Json


class Fold(Protocol):
    """Knowledge of all events of a log up to one."""

    def feed(self, event: Event) -> None:
        """Takes the next event of the log."""

    def state(self) -> Json:
        """All of it, as the index keeps it."""

    @property
    def start(self) -> tuple[int, int]:
        """The first seq that a later window may need, and the seq of the recipe that held there; 0
        for none.
        """


class Folding(Protocol):
    """A kind of fold. Another `version` has the events folded anew."""

    @property
    def version(self) -> int | str:
        """Changes whenever the same events give another state."""

    def new(self) -> Fold:
        """The fold of no event."""

    def of(self, state: Json) -> Fold:
        """The fold that gave `state`. Raises `ValueError` for one that it does not know."""
