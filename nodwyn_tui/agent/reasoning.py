"""What the person is told of opaque reasoning that cannot go back (ENG-20, C14)."""

from collections.abc import Mapping, Sequence

from nodwyn_tui.window.entries import Entry

REASONING = "reasoning"
"""Why a note about it is there."""

GONE_STALE = (
    "What stood before the reasoning of {count} earlier {replies} of this run has changed, so it"
    " can't go back to {server}. The model goes on without it, and may think some of it again."
)

LEFT_OUT = "{server} leaves earlier reasoning out of what the model sees: {why}."

_WHY: Mapping[str, str] = {
    "prefix_binding_mismatch": "what stood before it is not what it was",
    "model_binding_mismatch": "another model thought it",
    "organization_binding_mismatch": "it was thought for another account",
    "end_user_binding_mismatch": "it was thought for another person",
}


def left_out(server: str, reason: str) -> str:
    """What the person is told of blocks that a server left out, for its reason."""
    return LEFT_OUT.format(server=server, why=_WHY.get(reason, reason))


class LoopWatch:
    """Follows the requests of one run: which of its replies had their blocks in the last one, and
    what was told of it.
    """

    def __init__(self) -> None:
        self._had: frozenset[int] = frozenset()
        self._told: set[str] = set()

    def news(self, text: str) -> str:
        """The text where this run was not told it yet, else ''."""
        if text in self._told:
            return ""
        self._told.add(text)
        return text

    def stale(self, entries: Sequence[Entry], server: str) -> str:
        """What the person is told where replies of the run go back without the blocks that the
        request before had; '' where none do.
        """
        loop = _loop(entries)
        has = frozenset(entry.seq for entry in loop if entry.has_blocks)
        lost = self._had.intersection(entry.seq for entry in loop) - has
        self._had = has
        if not lost:
            return ""
        replies = "reply" if len(lost) == 1 else "replies"
        return GONE_STALE.format(count=len(lost), replies=replies, server=server)


def _loop(entries: Sequence[Entry]) -> Sequence[Entry]:
    """What came after the person's last message."""
    start = len(entries)
    while start and entries[start - 1].kind != "user":
        start -= 1
    return entries[start:]
