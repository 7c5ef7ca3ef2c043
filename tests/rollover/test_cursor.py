"""ROL-11: a cursor goes on where it says, or is refused; it never leads anywhere else."""

import base64
from collections.abc import Iterator
from pathlib import Path

import pytest

from nodwyn_tui.errors import ToolError
from nodwyn_tui.rollover.cursor import Cursors, Place
from nodwyn_tui.store.reading import LogReader

TEXT = b"".join(b'{"seq":%d}\n' % seq for seq in range(1, 1_000))
PLACE = Place(phase=2, seq=77, at=3_000, end=8_000)


def cursors(key: bytes = b"k" * 32, session: str = "s-1", floor: int = 0) -> Cursors:
    return Cursors(lambda: key, session, floor)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "log"
    file.write_bytes(TEXT)
    return file


@pytest.fixture
def reader(path: Path) -> Iterator[LogReader]:
    with LogReader.open(path) as found:
        yield found


def reopened(path: Path) -> LogReader:
    return LogReader.open(path)


def test_a_cursor_gives_its_place_back(reader: LogReader) -> None:
    cursor = cursors().seal(PLACE, reader, "search", ("word", "w:3"))
    assert cursors().open(cursor, reader, "search", ("word", "w:3")) == PLACE
    assert len(cursor) == 60


def test_a_cursor_tells_nothing_in_the_open(reader: LogReader) -> None:
    """Two of the same place are one, those of two sessions differ in all but the place."""
    one = cursors().seal(PLACE, reader, "search")
    assert one == cursors().seal(PLACE, reader, "search")
    assert one[-16:] != cursors(session="s-2").seal(PLACE, reader, "search")[-16:]


def test_every_changed_byte_is_noticed(reader: LogReader) -> None:
    sealed = base64.urlsafe_b64decode(cursors().seal(PLACE, reader, "search", ("q", "")))
    for at in range(len(sealed)):
        for bit in (1, 128):
            changed = bytes([*sealed[:at], sealed[at] ^ bit, *sealed[at + 1 :]])
            text = base64.urlsafe_b64encode(changed).decode()
            with pytest.raises(ToolError, match="invalid_cursor"):
                cursors().open(text, reader, "search", ("q", ""))


@pytest.mark.parametrize(
    "text", ["", "x", "=", "AAAA", "A" * 60, "A" * 200, "\u4e2d" * 60, "-_-_" * 15, "A\nAA"]
)
def test_what_is_no_cursor_is_refused(reader: LogReader, text: str) -> None:
    with pytest.raises(ToolError, match=r"invalid_cursor.*without a cursor"):
        cursors().open(text, reader, "search")


def test_a_cursor_is_bound_to_session_action_query_and_window(reader: LogReader) -> None:
    cursor = cursors().seal(PLACE, reader, "search", ("ab", "w:1"))
    others = [
        (cursors(session="s-2"), "search", ("ab", "w:1")),
        (cursors(key=b"j" * 32), "search", ("ab", "w:1")),
        (cursors(), "list_windows", ("ab", "w:1")),
        (cursors(), "search", ("a", "bw:1")),
        (cursors(), "search", ("abw:1", "")),
        (cursors(), "search", ("ab", "")),
        (cursors(), "search", ()),
    ]
    for made, action, subject in others:
        with pytest.raises(ToolError, match="invalid_cursor"):
            made.open(cursor, reader, action, subject)


def test_a_cursor_survives_appends(path: Path, reader: LogReader) -> None:
    place = Place(phase=1, seq=9, end=len(TEXT))
    cursor = cursors().seal(place, reader, "search")
    with path.open("ab") as file:
        file.write(b'{"seq":1000}\n' * 5_000)
    assert cursors().open(cursor, reopened(path), "search") == place


@pytest.mark.parametrize("at", [0, 400, 2_700, 2_999, 3_000, 3_400, 7_600, 7_999])
def test_other_bytes_at_its_places_make_it_stale(path: Path, reader: LogReader, at: int) -> None:
    cursor = cursors().seal(PLACE, reader, "search")
    path.write_bytes(TEXT[:at] + b"#" + TEXT[at + 1 :])
    with pytest.raises(ToolError, match=r"stale_cursor.*search again without a cursor"):
        cursors().open(cursor, reopened(path), "search")


def test_rows_that_moved_make_it_stale(path: Path, reader: LogReader) -> None:
    """A row more, a row less, or one that grew, anywhere before it."""
    cursor = cursors().seal(PLACE, reader, "search")
    lines = TEXT.splitlines(keepends=True)
    for text in (TEXT[len(lines[0]) :], lines[0] + TEXT, TEXT.replace(b":100}", b":0100}")):
        path.write_bytes(text)
        with pytest.raises(ToolError, match="stale_cursor"):
            cursors().open(cursor, reopened(path), "search")


def test_a_shorter_or_another_file_makes_it_stale(path: Path, reader: LogReader) -> None:
    cursor = cursors().seal(PLACE, reader, "search")
    path.rename(path.with_name("rotated"))
    path.write_bytes(TEXT)
    with pytest.raises(ToolError, match="stale_cursor"):
        cursors().open(cursor, reopened(path), "search")
    assert cursors().open(cursor, reopened(path.with_name("rotated")), "search") == PLACE
    path.with_name("rotated").write_bytes(TEXT[:7_999])
    with pytest.raises(ToolError, match="stale_cursor"):
        cursors().open(cursor, reopened(path.with_name("rotated")), "search")


def test_a_clear_makes_it_stale(reader: LogReader) -> None:
    """ROL-9: also what an earlier page was about to lead to is out of reach."""
    cursor = cursors().seal(PLACE, reader, "search")
    with pytest.raises(ToolError, match="stale_cursor"):
        cursors(floor=80).open(cursor, reader, "search")
