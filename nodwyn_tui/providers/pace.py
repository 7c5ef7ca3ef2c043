"""How long a stream may keep one waiting: to its first word, and between two bytes (PRV-13)."""

from nodwyn_tui.errors import ProviderError
from nodwyn_tui.providers.base import Timeouts


class Pace:
    """Deadlines of one stream, in seconds of any steady clock.

    Any byte shows that the server lives; only a frame that says something counts as its word, so
    that a stream of comments alone ends too (C24).
    """

    def __init__(self, timeouts: Timeouts) -> None:
        self._timeouts = timeouts
        self._word = self._byte = 0.0
        self._spoke = False

    def start(self, now: float) -> None:
        """The request is being sent."""
        self._word = self._byte = now

    def heard(self, now: float, *, word: bool) -> None:
        """Bytes came, and with them a word or none."""
        self._byte = now
        if word:
            self._word, self._spoke = now, True

    def deadline(self) -> float:
        """When the next byte must have come."""
        patience = self._word + self._timeouts.first
        return min(patience, self._byte + self._timeouts.idle) if self._spoke else patience

    def error(self) -> ProviderError:
        """The error for a deadline that passed."""
        if not self._spoke:
            return ProviderError(
                "timeout",
                f"no word of a reply came within {self._timeouts.first:g} s",
                remedy="If the server needs longer for a prompt, raise its timeouts.first",
            )
        return ProviderError(
            "timeout",
            f"the reply stood still for {self._timeouts.idle:g} s",
            remedy="Try again; if the server pauses so long by itself, raise its timeouts.idle",
        )
