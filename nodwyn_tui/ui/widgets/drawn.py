"""A picture as it can be put on the screen."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.segment import Segment

Rgb = tuple[int, int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """`rows` are its cells. The terminal is sent `before` once, ahead of them, and `after` when
    they are gone (Kitty's protocol); `over` is written over them, from their first cell (Sixels).
    """

    rows: Sequence[Sequence[Segment]] = ()
    before: str = ""
    over: str = ""
    after: str = ""

    @property
    def columns(self) -> int:
        """How many cells wide it is."""
        return max((sum(segment.cell_length for segment in row) for row in self.rows), default=0)
