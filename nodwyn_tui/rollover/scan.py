"""Rows of a log, found and read backwards, within what one call may scan (ROL-11). Needs no index:
only the order of seqs, and that a line feed ends a row. Interprets nothing but a row's seq.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

from nodwyn_tui.domain.events import Event
from nodwyn_tui.errors import ToolError

MOST_BYTES, MOST_ROWS = 2 << 20, 500
"""What one call scans."""
MOST_OF_A_ROW = 1 << 20
"""Bytes; a longer row is skipped and counted."""
PIECE = 64 << 10
"""Bytes read at once."""
_PROBE = 1 << 10
_BLOCK = 4 << 10
_SEQ = re.compile(rb'[ \t]*\{"seq":(\d{1,16})[,}]')

Decode = Callable[[bytes], Event]
"""A line's event. Raises `ValueError` for what is none."""


class LogBytes(Protocol):
    """A log's file as it was when it was opened: its `size` in bytes, and which file it is."""

    inode: int
    size: int

    def at(self, offset: int, length: int) -> bytes: ...


@dataclass(slots=True)
class Budget:
    """What a call may still scan, and the over-long rows that it skipped. What was read once in a
    call is not read again.
    """

    bytes_left: int = MOST_BYTES
    rows_left: int = MOST_ROWS
    skipped: int = 0
    _blocks: dict[int, bytes] = field(default_factory=dict)

    def read(self, log: LogBytes, offset: int, length: int) -> bytes:
        """A piece of the log, on account. Raises `SpentError` where so much is not left."""
        first, last = offset // _BLOCK, (offset + length - 1) // _BLOCK
        held = b"".join(self._block(log, number) for number in range(first, last + 1))
        start = offset - first * _BLOCK
        return held[start : start + length]

    def _block(self, log: LogBytes, number: int) -> bytes:
        if (block := self._blocks.get(number)) is None:
            start = number * _BLOCK
            length = min(_BLOCK, log.size - start)
            if length > self.bytes_left:
                raise SpentError
            self.bytes_left -= length
            block = self._blocks[number] = log.at(start, length)
        return block


class SpentError(Exception):
    """The budget is used up."""


@dataclass(frozen=True, slots=True)
class Line:
    """A row of the log, without its line end, and the byte it begins at."""

    offset: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a scan stands: the rows before the byte `at` are still to come. `inside` says that it
    stands within an over-long row, which was counted already.
    """

    at: int
    inside: bool = False


class Backwards:
    """Iterates over the rows before a spot, the last first, until the log begins or the budget is
    used up. `spot` is behind the first row that was not given yet; at 0 all were.
    """

    def __init__(self, log: LogBytes, spot: Spot, budget: Budget) -> None:
        self.spot = spot
        self._log, self._budget = log, budget
        self._start, self._held = spot.at, b""
        """Where the bytes begin that are held, and these: up to `spot.at`."""

    def __iter__(self) -> Iterator[Line]:
        while self.spot.at and self._budget.rows_left:
            try:
                line = self._next()
            except SpentError:
                return
            if line is not None:
                yield line

    def _next(self) -> Line | None:
        """The row before the spot; `None` for one that is skipped."""
        while (cut := self._cut()) < 0 and self._start:
            if self.spot.inside:
                self.spot, self._held = Spot(self._start, inside=True), b""
            elif len(self._held) > MOST_OF_A_ROW + 1:
                self._skip()
            self._read_more()
        offset = self._start + cut + 1
        data, self._held = self._held[cut + 1 :].rstrip(b"\r\n"), self._held[: cut + 1]
        counted, self.spot = self.spot.inside, Spot(offset)
        if counted:
            return None
        self._budget.rows_left -= 1
        if len(data) > MOST_OF_A_ROW:
            self._budget.skipped += 1
            return None
        return Line(offset, data)

    def _cut(self) -> int:
        """The line feed before the row, as far as it is held. The row's own ends it, but not where
        only the rest of one is held.
        """
        held = self._held
        return held.rfind(b"\n", 0, len(held) if self.spot.inside else max(len(held) - 1, 0))

    def _skip(self) -> None:
        """From here on only the row's beginning is sought."""
        self._budget.skipped += 1
        self._budget.rows_left -= 1
        self.spot, self._held = Spot(self._start, inside=True), b""

    def _read_more(self) -> None:
        length = min(PIECE, self._start)
        self._held = self._budget.read(self._log, self._start - length, length) + self._held
        self._start -= length


def offset_of(seq: int, log: LogBytes, decode: Decode, budget: Budget) -> int:
    """The byte at which the first row with this seq, or a later one, begins; the log's end where
    there is none. Halves the log: seqs rise with the bytes. Raises `ToolError` where the budget
    does not suffice, which only rows of its size can bring about.
    """
    low, high = 0, log.size
    try:
        while high - low > _PROBE:
            middle = (low + high) // 2
            found = _first_row(log, decode, budget, middle, high)
            if found is not None and found[1] < seq:
                low = found[0]
            else:
                high = middle
        while (found := _first_row(log, decode, budget, low, log.size)) is not None:
            if found[1] >= seq:
                return found[0]
            low = found[0] + 1
    except SpentError as error:
        raise ToolError(
            "rows too long to be passed in one call stand in the way; search for words of it"
        ) from error
    return log.size


def _first_row(
    log: LogBytes, decode: Decode, budget: Budget, start: int, end: int
) -> tuple[int, int] | None:
    """Where the first row begins of those between two bytes, and its seq; what is no row is
    passed.
    """
    at = start
    if at and budget.read(log, at - 1, 1) != b"\n":
        at = _line_end(log, budget, at, end)
    while at < end:
        head = budget.read(log, at, min(_PROBE, log.size - at))
        if found := _SEQ.match(head):
            return at, int(found[1])
        behind = _line_end(log, budget, at, log.size)
        if behind - at <= MOST_OF_A_ROW:
            try:
                return at, decode(budget.read(log, at, behind - at)).seq
            except ValueError:
                pass
        at = behind
    return None


def _line_end(log: LogBytes, budget: Budget, at: int, end: int) -> int:
    """The byte behind the next line feed, `end` at most."""
    while at < end:
        piece = budget.read(log, at, min(_PROBE, log.size - at))
        if (cut := piece.find(b"\n")) >= 0:
            return at + cut + 1
        at += len(piece)
    return end


def lines_from(offset: int, log: LogBytes, budget: Budget) -> Iterator[Line]:
    """The rows from a byte on, where one begins, until the log ends or the budget is used up."""
    held = b""
    while offset < log.size and budget.rows_left:
        looked = 0
        while (cut := held.find(b"\n", looked)) < 0 and (left := log.size - offset - len(held)):
            looked = len(held)
            try:
                held += budget.read(log, offset + looked, min(PIECE, left))
            except SpentError:
                return
        end = cut + 1 if cut >= 0 else len(held)
        budget.rows_left -= 1
        yield Line(offset, held[:end].rstrip(b"\r\n"))
        held, offset = held[end:], offset + end


def event_in(data: bytes, decode: Decode) -> Event | None:
    """A line's event; `None` for what is none."""
    try:
        return decode(data)
    except ValueError:
        return None
