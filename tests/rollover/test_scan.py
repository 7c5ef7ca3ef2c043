"""ROL-11: rows are read backwards and found by their seq, within what one call may scan."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from nodwyn_tui.errors import ToolError
from nodwyn_tui.rollover import scan
from nodwyn_tui.rollover.scan import Backwards, Budget, Spot, lines_from, offset_of
from nodwyn_tui.store.lines import decode
from nodwyn_tui.store.reading import LogReader

MIB = 1 << 20


class Counted:
    """A log that counts what is read of it."""

    def __init__(self, reader: LogReader) -> None:
        self.inode, self.size, self.read = reader.inode, reader.size, 0
        self._reader = reader

    def at(self, offset: int, length: int) -> bytes:
        self.read += length
        return self._reader.at(offset, length)


def row(seq: int, size: int = 0) -> bytes:
    """A line of `size` bytes without its end, or as short as can be."""
    line = json.dumps({"seq": seq, "type": "x.y", "fill": ""}, separators=(",", ":")).encode()
    return line[:-2] + b"z" * max(size - len(line), 0) + line[-2:] + b"\n"


@contextmanager
def log_of(path: Path, *lines: bytes) -> Iterator[Counted]:
    path.write_bytes(b"".join(lines))
    with LogReader.open(path) as reader:
        yield Counted(reader)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "rows"


SIZES = [
    [0] * 40,
    [scan.PIECE - 1, scan.PIECE, 0, scan.PIECE + 1, 2 * scan.PIECE - 2, 0, 3 * scan.PIECE],
    [MIB, 0, MIB - 1],
]


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("ended", [True, False])
def test_rows_come_whole_and_backwards(place: Path, sizes: list[int], *, ended: bool) -> None:
    lines = [row(seq, size) for seq, size in enumerate(sizes, 1)]
    lines[-1] = lines[-1] if ended else lines[-1].rstrip(b"\n")
    with log_of(place, *lines) as log:
        rows, spot = [], Spot(log.size)
        while spot.at:
            back = Backwards(log, spot, Budget())
            rows += list(back)
            spot = back.spot
    assert [each.data for each in rows] == [line.rstrip(b"\n") for line in reversed(lines)]
    assert all(b"".join(lines)[each.offset :].startswith(each.data) for each in rows)


def test_a_call_gives_500_rows_and_the_next_goes_on(place: Path) -> None:
    with log_of(place, *map(row, range(1, 1_103))) as log:
        spot, counts, seqs = Spot(log.size), [], []
        while spot.at:
            back = Backwards(log, spot, Budget())
            found = [decode(line.data).seq for line in back]
            counts.append(len(found))
            seqs += found
            spot = back.spot
    assert counts == [500, 500, 102]
    assert seqs == list(range(1_102, 0, -1))


@pytest.mark.parametrize(("size", "given", "skipped"), [(MIB, 3, 0), (MIB + 1, 2, 1)])
def test_rows_over_a_mebibyte_are_skipped_and_counted(
    place: Path, size: int, given: int, skipped: int
) -> None:
    with log_of(place, row(1), row(2, size), row(3)) as log:
        back = Backwards(log, Spot(log.size), budget := Budget())
        assert len(list(back)) == given
    assert (budget.skipped, budget.rows_left, back.spot) == (skipped, 497, Spot(0))


@pytest.mark.parametrize("shift", [0, 1, 2, scan.PIECE - 1])
def test_a_giant_row_is_passed_over_several_calls_once(place: Path, shift: int) -> None:
    """Next to nothing of it is read twice, it is counted once, and its neighbours are given."""
    giant = row(2, 5 * MIB + shift)
    with log_of(place, row(1), giant, row(3)) as log:
        spot, seqs, skipped, calls = Spot(log.size), [], 0, 0
        while spot.at:
            before, budget = log.read, Budget()
            back = Backwards(log, spot, budget)
            seqs += [decode(line.data).seq for line in back]
            skipped += budget.skipped
            calls += 1
            spot = back.spot
            assert log.read - before <= 2 * MIB
    assert (seqs, skipped, calls) == ([3, 1], 1, 3)
    assert log.read < log.size + 3 * scan.PIECE


def test_giant_rows_end_where_pieces_do(place: Path) -> None:
    """The byte before a piece may be the line feed before the row."""
    first = row(1)
    for length in range(scan.PIECE * 17 - 3, scan.PIECE * 17 + 3):
        with log_of(place, first, row(2, length)) as log:
            back = Backwards(log, Spot(log.size), budget := Budget())
            assert [decode(line.data).seq for line in back] == [1]
        assert budget.skipped == 1


def test_two_mebibytes_are_read_and_no_byte_more(place: Path) -> None:
    lines = [row(seq, 100_000) for seq in range(1, 61)]
    with log_of(place, *lines) as log:
        spot, seqs = Spot(log.size), []
        while spot.at:
            before = log.read
            back = Backwards(log, spot, Budget())
            seqs += [decode(line.data).seq for line in back]
            assert 0 < log.read - before <= 2 * MIB
            spot = back.spot
    assert seqs == list(range(60, 0, -1))


def test_any_seq_is_found_where_it_stands(place: Path) -> None:
    """Also behind gaps, and across lines that are none; a missing one leads to the next."""
    lines: list[bytes] = []
    offsets: dict[int, int] = {}
    for seq in range(2, 400, 2):
        if seq % 50 == 0:
            lines.append(b"\0" * 3_000 + b"\n" if seq % 100 else b'{"cut": tr\n\n')
        offsets[seq] = sum(map(len, lines))
        lines.append(row(seq, 0 if seq % 3 else 9_000))
    with log_of(place, *lines) as log:
        for seq in range(1, 402):
            wanted = offsets.get(seq + seq % 2, log.size)
            assert offset_of(seq, log, decode, Budget()) == wanted, seq


def test_lines_of_another_spelling_are_found_too(place: Path) -> None:
    lines = [b'{"type": "x", "note": "", "seq": %d}\n' % seq for seq in range(1, 900)]
    with log_of(place, *lines) as log:
        at = offset_of(700, log, decode, Budget())
    assert at == sum(map(len, lines[:699]))


def test_to_find_a_row_costs_little(place: Path) -> None:
    with log_of(place, *(row(seq, 3_000) for seq in range(1, 3_001))) as log:
        offset_of(1_234, log, decode, Budget())
        assert log.read < 200_000


def test_a_row_behind_giants_is_not_found_at_any_price(place: Path) -> None:
    with log_of(place, row(1), row(2, 9 * MIB), row(3)) as log:
        with pytest.raises(ToolError, match="search for words"):
            offset_of(3, log, decode, Budget())
        assert log.read <= 2 * MIB


def test_rows_are_read_forwards_within_the_budget(place: Path) -> None:
    lines = [row(1), row(2, 200_000), row(3), row(4, 3 * MIB), row(5)]
    with log_of(place, *lines) as log:
        found = [decode(line.data).seq for line in lines_from(0, log, Budget())]
        assert log.read <= 2 * MIB
        later = list(lines_from(len(lines[0]), log, Budget(rows_left=1)))
    assert found == [1, 2, 3]
    assert [(line.offset, len(line.data)) for line in later] == [(len(lines[0]), 200_000)]
