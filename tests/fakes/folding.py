"""A fold as the agent's is made: the window's start, and how many events there were."""

from typing import Any

from nodwyn_tui.domain.events import Event
from nodwyn_tui.domain.request import Json
from nodwyn_tui.window.contexts import StartTracker


class Started:
    """A fold around the start tracker."""

    def __init__(self, tracker: StartTracker, count: int = 0) -> None:
        self.tracker, self.count = tracker, count

    def feed(self, event: Event) -> None:
        self.tracker.feed(event)
        self.count += 1

    def state(self) -> Json:
        return [self.count, self.tracker.state()]

    @property
    def start(self) -> tuple[int, int]:
        return self.tracker.keep, self.tracker.recipe


class Starts:
    """The folding of it, in some version."""

    def __init__(self, version: int = 1) -> None:
        self.version = version

    def new(self) -> Started:
        return Started(StartTracker())

    def of(self, state: Any) -> Started:
        match state:
            case [int(count), tracker]:
                return Started(StartTracker.of(tracker), count)
        raise ValueError("another's state")
