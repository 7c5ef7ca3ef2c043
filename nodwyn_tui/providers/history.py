"""Where a conversation's cache marks stand, for protocols that take explicit ones (ORD-6). Pure.

What was asked before, and the answers to it, only grow: that is history. What the person said since
the last answer is the tail. A mark ends the history, so that the next request finds it again.
"""

from collections.abc import Sequence

from nodwyn_tui.domain.request import AssistantRow, Message, UserRow


def history_marks(
    rows: Sequence[Message],
    *,
    told: tuple[int, int] | None = None,
    latest_only: bool = False,
    thoughtful: bool = False,
) -> list[int]:
    """The history marker of the request before this one and its own, as counts of rows, in order.

    They are `told` where rows that go stand behind them, else found. With `latest_only`, opaque
    reasoning leaves with the next reply: the markers stand before the replies that had it, the
    latest one if it is `thoughtful`, the one before it in any case.
    """
    latest = last_reply(rows)
    former, own = told or (_settled(rows[:latest]), _settled(rows))
    if latest_only:
        former = min(former, last_reply(rows[:latest]))
        own = min(own, latest) if thoughtful else own
    return sorted({former, own} - {0})


def last_reply(rows: Sequence[Message]) -> int:
    """How many rows stand before the last reply, 0 where there is none."""
    for at in range(len(rows) - 1, -1, -1):
        if isinstance(rows[at], AssistantRow):
            return at
    return 0


def _settled(rows: Sequence[Message]) -> int:
    """How many rows stand before what the person said last."""
    end = len(rows)
    while end and isinstance(rows[end - 1], UserRow):
        end -= 1
    return end
