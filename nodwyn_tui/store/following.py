"""Reads a log line by line, from any point where it is known to be whole, and stops where only a
look at all of it (`scan.py`) could tell what is the log's own. What it takes, that one takes too.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from nodwyn_tui.domain.events import Event, SessionRecovered
from nodwyn_tui.store.reading import LogReader
from nodwyn_tui.store.scan import MAX_GAP, batch_size, head_of, pieces_of


@dataclass(frozen=True, slots=True)
class Placed:
    """An event, and where in the log it stands (bytes)."""

    event: Event
    offset: int
    length: int


class Broken(Exception):
    """Something stands in the log that is no event, or is out of order."""


@dataclass(frozen=True, slots=True)
class Gaps:
    """Which seqs below `next_seq` no event has and no recovery has named yet, and which ones from
    there on a recovery has named.
    """

    next_seq: int = 1
    missing: frozenset[int] = frozenset()
    named: frozenset[int] = frozenset()

    def after(self, event: Event) -> "Gaps":
        """The gaps behind the log's next event."""
        recovered = isinstance(event, SessionRecovered)
        if event.seq == self.next_seq and not (recovered or self.named):
            return Gaps(event.seq + 1, self.missing)
        missing = self.missing | (frozenset(range(self.next_seq, event.seq)) - self.named)
        named = frozenset(seq for seq in self.named if seq > event.seq)
        if isinstance(event, SessionRecovered):
            missing -= frozenset(event.missing)
            named |= frozenset(seq for seq in event.missing if seq > event.seq)
        return Gaps(event.seq + 1, missing, named)


class Follower:
    """Follows a log from the byte `end` on, behind the event `last_seq`, and gives its events as
    soon as their batches are whole. `end` is behind the last one it gave: what stands from there on
    is nothing yet, or part of a line or a batch that is under way.
    """

    def __init__(self, end: int, last_seq: int) -> None:
        self.end = end
        self._last = last_seq
        self._pending: deque[Placed] = deque()
        self._batches: list[tuple[int, int]] = []
        """The first and last seqs of the batches that are not whole yet."""

    @property
    def is_between(self) -> bool:
        """Whether all it took is given: no batch is under way."""
        return not self._pending

    def events(self, log: LogReader) -> Iterator[Placed]:
        """The next whole events. Raises `Broken` where it cannot go on, behind all before it."""
        for offset, line in log.lines(self.end):
            for piece in pieces_of(line, offset):
                if piece.event is not None:
                    yield from self._take(Placed(piece.event, piece.start, piece.end - piece.start))
                elif line.endswith(b"\n") or self._is_behind(line[piece.start - offset :]):
                    raise Broken(piece.why)
                else:
                    return  # cut, or still being written
            if not self._pending:
                self.end = offset + len(line)

    def _is_behind(self, cut: bytes) -> bool:
        """Whether the beginning of a line tells of an event that should have come earlier."""
        return 0 < head_of(cut)[0] <= self._last

    def _take(self, placed: Placed) -> Iterator[Placed]:
        seq = placed.event.seq
        within = bool(self._batches)
        if not self._last < seq <= self._last + (1 if within else MAX_GAP):
            raise Broken(f"seq {seq} behind {self._last}")
        self._last = seq
        self._pending.append(placed)
        self._batches = [batch for batch in self._batches if batch[1] > seq]
        if (size := batch_size(placed.event)) > 1:
            self._batches.append((seq, seq + size - 1))
        whole_before = self._batches[0][0] if self._batches else seq + 1
        while self._pending and self._pending[0].event.seq < whole_before:
            first = self._pending.popleft()
            self.end = first.offset + first.length
            yield first
