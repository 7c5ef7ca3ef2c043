"""Where a conversation's cache marks stand, for protocols that take explicit ones (ORD-6). Pure.

What was asked before, and the answers to it, only grow: that is history. What the person said since
the last answer is the tail. A mark ends the history, so that the next request finds it again.
"""

from collections.abc import Sequence

from nodwyn_tui.domain.request import AssistantRow, Message, UserRow


def history(rows: Sequence[Message], *, latest_only: bool = False) -> int:
    """How many rows stand before the history marker; 0 where there is none. With `latest_only`, the
    opaque reasoning of the last reply leaves with the next one, so the marker stands before it.
    """
    if latest_only:
        return _last_reply(rows)
    end = len(rows)
    while end and isinstance(rows[end - 1], UserRow):
        end -= 1
    return end


def history_marks(rows: Sequence[Message], *, latest_only: bool = False) -> list[int]:
    """The history marker of the request before this one and its own, as counts of rows, in order.

    The request before ended where the last reply begins.
    """
    before = history(rows[: _last_reply(rows)], latest_only=latest_only)
    return sorted({before, history(rows, latest_only=latest_only)} - {0})


def _last_reply(rows: Sequence[Message]) -> int:
    """How many rows stand before the last reply, 0 where there is none."""
    for at in range(len(rows) - 1, -1, -1):
        if isinstance(rows[at], AssistantRow):
            return at
    return 0
