"""Messages typed while a run goes on: kept in the log, told after the tool batch or at the end
(AGT-4).
"""

from collections.abc import Sequence
from typing import Literal

from nodwyn_tui.agent.conversation import Conversation, Emit
from nodwyn_tui.domain import events as ev
from nodwyn_tui.link import events as up


class Waiting:
    """What waits: `steers` for the end of the tool batch, the rest for the end of the run."""

    def __init__(self, conversation: Conversation, emit: Emit) -> None:
        self._conversation, self._emit = conversation, emit
        self._steers: list[str] = []
        self._queue: list[str] = []

    def add(self, text: str, *, steer: bool) -> None:
        """One more message."""
        (self._steers if steer else self._queue).append(text)
        when: Literal["steer", "queue"] = "steer" if steer else "queue"
        self._conversation.append(ev.UserQueued(text=text, when=when))
        self._tell()

    def take_steers(self) -> list[str]:
        """What is to be told now."""
        taken, self._steers = self._steers, []
        if taken:
            self._tell()
        return taken

    def put_back(self, texts: Sequence[str]) -> None:
        """Steers that could not be told."""
        self._steers = [*texts, *self._steers]
        self._tell()

    def take_all(self) -> list[str]:
        """Everything, in the order in which it goes to the model."""
        taken, self._steers, self._queue = [*self._steers, *self._queue], [], []
        if taken:
            self._tell()
        return taken

    def take_back(self) -> None:
        """Gives the message that waits last back to the person."""
        waiting = self._queue or self._steers
        if not waiting:
            self._emit(up.Notice(level="info", text="nothing waits any more: it was sent"))
            return
        text = waiting.pop()
        self._conversation.append(ev.UserQueued(text=text, dropped=True))
        self._tell()
        self._emit(up.Returned(text=text, why="queued"))

    def _tell(self) -> None:
        self._emit(up.Queued(texts=(*self._steers, *self._queue)))
