"""What of a session may be looked into: its windows, never what lies before a `/clear`, was taken
back, or belongs to others (ROL-9, ROL-11).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from nodwyn_tui.errors import ToolError

FAR = 2**62
"""Behind every seq."""
_LONGEST = 16
"""Digits of a seq."""


@dataclass(frozen=True, slots=True)
class Window:
    """A window that began at the event `seq` (0: the session's first): of what `kind`, when (UTC),
    and how the first thing that the person said in it begins.
    """

    seq: int
    kind: str
    at: str
    first: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """What of a log may be read: nothing up to the event `floor`, nothing in `gone` (spans of seqs
    that a rewind took back), nothing of the contexts of others, which `foreign` tells. `windows`
    are those above the floor, the first one first.
    """

    windows: Sequence[Window]
    floor: int = 0
    gone: Sequence[tuple[int, int]] = ()
    foreign: Callable[[int], bool] = lambda _ctx: False

    def allows(self, seq: int) -> bool:
        """Whether an event may be shown."""
        return seq > self.floor and not any(first <= seq < last for first, last in self.gone)

    def span(self, window: str) -> tuple[int, int]:
        """The first seq of a window, and the first one behind it; '' for all. `ToolError` for a
        window that there is not.
        """
        if not window:
            return self.floor + 1, FAR
        starts = [each.seq for each in self.windows]
        number = number_in(window, "w:")
        if number is None or number not in starts:
            raise ToolError(f"there is no window {window!r}; list_windows names them")
        at = starts.index(number)
        behind = starts[at + 1] if at + 1 < len(starts) else FAR
        return max(number, self.floor + 1), behind


def number_in(name: str, prefix: str) -> int | None:
    """The seq in a name; `None` for what is no such name."""
    number = name.removeprefix(prefix)
    known = number.isascii() and number.isdigit() and len(number) <= _LONGEST
    return int(number) if known and name.startswith(prefix) else None
