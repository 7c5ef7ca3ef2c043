"""Which facts a request recalls: those that match what the person asked, the best first, as many as
have room. It is worked out again only where one of these changed (ORD-10).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from nodwyn_tui.agent.recalled import reasons
from nodwyn_tui.domain import events as ev
from nodwyn_tui.store.memory import Item, ranked


@dataclass(frozen=True, slots=True)
class Recollected:
    """The facts as they are told, a line each, and why they are these."""

    lines: tuple[str, ...]
    why: ev.Recall


class Recollection:
    """Remembers the last answer."""

    def __init__(
        self, size_of: Callable[[Sequence[str]], int], clean: Callable[[str], str]
    ) -> None:
        """`size_of` tells the tokens of a row of such lines, `clean` takes keys out of reasons."""
        self._size_of, self._clean = size_of, clean
        self._last: tuple[tuple[tuple[Item, ...], str, int], Recollected] | None = None

    def of(self, items: tuple[Item, ...], asked: str, cap: int) -> Recollected:
        """What of `items` a request recalls, in no more than `cap` tokens."""
        if self._last is not None and self._last[0] == (items, asked, cap):
            return self._last[1]
        lines: list[str] = []
        sent: list[int] = []
        matches = ranked(items, asked)
        for at, match in enumerate(matches):
            line = line_of(match.item)
            if self._size_of([*lines, line]) <= cap:
                lines.append(line)
                sent.append(at)
            elif self._size_of([line]) <= cap:
                break  # one that never has room keeps none behind it out
        why = reasons(matches, sent, len(items), cap, self._clean)
        found = Recollected(tuple(lines), why)
        self._last = (items, asked, cap), found
        return found


def line_of(item: Item) -> str:
    """An item as a row tells it, with the date it bears."""
    return f"- {item.date} {item.text}" if item.date else f"- {item.text}"
