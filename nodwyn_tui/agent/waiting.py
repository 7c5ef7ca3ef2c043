"""Messages typed while a run goes on: kept in the log, told after the tool batch or at the end
(AGT-4).
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from nodwyn_tui.agent.conversation import Conversation, Emit
from nodwyn_tui.agent.words import Words
from nodwyn_tui.domain import events as ev
from nodwyn_tui.link import events as up
from nodwyn_tui.link.images import Attached

Give = Callable[[Iterable[ev.QueuedImage]], tuple[Attached, ...]]
"""Images that are the person's again, as the prompt shows them."""


class Waiting:
    """What waits: `steers` for the end of the tool batch, the rest for the end of the run. `give`
    gives images back.
    """

    def __init__(self, conversation: Conversation, emit: Emit, give: Give) -> None:
        self._conversation, self._emit, self._give = conversation, emit, give
        self._steers: list[Words] = []
        self._queue: list[Words] = []

    def add(self, words: Words, *, steer: bool) -> None:
        """One more message."""
        (self._steers if steer else self._queue).append(words)
        when: Literal["steer", "queue"] = "steer" if steer else "queue"
        queued = ev.UserQueued(text=words.text, when=when, images=words.images or None)
        self._conversation.append(queued)
        self._tell()

    def take_steers(self) -> list[Words]:
        """What is to be told now."""
        taken, self._steers = self._steers, []
        if taken:
            self._tell()
        return taken

    def put_back(self, said: Sequence[Words]) -> None:
        """Steers that could not be told."""
        self._steers = [*said, *self._steers]
        self._tell()

    def take_all(self) -> list[Words]:
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
        words = waiting.pop()
        self._conversation.append(ev.UserQueued(text=words.text, dropped=True))
        self._tell()
        images = self._give(words.images)
        self._emit(up.Returned(text=words.text, why="queued", images=images))

    def given_back(self, said: Sequence[Words]) -> None:
        """Messages of which some had waited are the person's again."""
        waited = self._conversation.ledger.facts.waiting
        texts = [words.text for words in said if words.text in waited]
        self._conversation.append(*(ev.UserQueued(text=text, dropped=True) for text in texts))

    def reject(self, words: Words) -> None:
        """A message fits no window: its images are the person's again, its text is kept where it
        stands (ROL-8).
        """
        if images := self._give(words.images):
            self._emit(up.Returned(text="", why="rejected", images=images))

    def _tell(self) -> None:
        texts = (words.text for words in (*self._steers, *self._queue))
        self._emit(up.Queued(texts=tuple(texts)))
