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

    def _tell(self) -> None:
        self._emit(up.Queued(texts=(*self._steers, *self._queue)))


def undelivered(events: Sequence[ev.Event]) -> list[str]:
    """Messages that waited when an earlier process ended, and were neither sent nor taken back."""
    waiting: list[str] = []
    for event in events:
        match event:
            case ev.UserQueued(dropped=False):
                waiting.append(event.text)
            case ev.UserQueued():
                waiting = [text for text in waiting if text != event.text]
            case ev.UserMessage():
                said = event.text.split("\n\n")
                waiting = [t for t in waiting if t != event.text and not _within(t, said)]
            case _:
                pass
    return waiting


def _within(text: str, said: Sequence[str]) -> bool:
    """Whether a message stands whole among those that were sent as one."""
    parts = text.split("\n\n")
    return any(said[at : at + len(parts)] == parts for at in range(len(said)))
