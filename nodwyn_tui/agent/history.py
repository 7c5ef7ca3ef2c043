"""The session's own log, as `session_history` reads it: within fixed bounds, and never behind a
`/clear` (ROL-9, ROL-11).
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from nodwyn_tui.agent.conversation import Conversation
from nodwyn_tui.errors import ToolError
from nodwyn_tui.rollover.cursor import STALE, Cursors
from nodwyn_tui.rollover.history import History
from nodwyn_tui.rollover.reach import Reach, Window
from nodwyn_tui.store.lines import decode
from nodwyn_tui.store.reading import NotThere
from nodwyn_tui.tools.output import cleaned
from nodwyn_tui.window.entries import BYTES_PER_TOKEN
from nodwyn_tui.window.policy import policy_for


class LogHistory:
    """Fills the port of `session_history`. `key` gives what its cursors are sealed with."""

    def __init__(self, conversation: Conversation, key: Callable[[], bytes]) -> None:
        self._conversation, self._key = conversation, key

    def list_windows(self, cursor: str, limit: int) -> str:
        with self._opened("list_windows") as history:
            return history.list_windows(cursor, limit)

    def search(self, query: str, window: str, cursor: str, limit: int) -> str:
        with self._opened("search") as history:
            return history.search(query, window, cursor, limit)

    def read_item(self, item: str, offset: int, limit: int) -> str:
        with self._opened("read_item") as history:
            return history.read_item(item, offset, limit)

    @contextmanager
    def _opened(self, action: str) -> Iterator[History]:
        """The log as it is now. `ToolError` where it is rewritten meanwhile."""
        log = self._conversation.log
        facts, tracker = self._conversation.ledger.facts, self._conversation.ledger.tracker
        windows = [Window(w.seq, w.kind, w.at, w.first) for w in facts.earlier.windows]
        with log.archive.opener() as reader:
            try:
                yield History(
                    log=reader,
                    decode=decode,
                    index=log.archive,
                    reach=Reach(
                        windows=windows,
                        floor=facts.floor,
                        gone=facts.earlier.gone,
                        foreign=tracker.is_inner,
                    ),
                    cursors=Cursors(self._key, log.path.parent.name, facts.floor),
                    clean=cleaned,
                    room=self._room(),
                )
            except NotThere as error:
                raise ToolError(STALE.format(action=action)) from error

    def _room(self) -> int:
        """Bytes of JSON that the window shows of an answer: as many as of a file read, for it never
        cuts one, or its middle could never be read (ROL-11).
        """
        recipe = self._conversation.recipe
        caps = 2 if policy_for(recipe.version).wide_history else 1
        return caps * recipe.window.max_result_tokens * BYTES_PER_TOKEN
