"""ENG-7: whatever becomes of an index, its answers are those of a full read; only time is lost."""

import os
import random
import shutil
import sqlite3
import stat
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from nodwyn_tui.domain import events as ev
from nodwyn_tui.store.archive import Archive
from nodwyn_tui.store.lines import encode
from nodwyn_tui.store.log import Log
from tests.fakes.archives import check, drafts, index_of, numbered, session, verify
from tests.fakes.disks import files_at_most
from tests.fakes.folding import Starts
from tests.fakes.sessions import new_log, open_log, turn


def was_kept(log: Path) -> bool:
    """Whether the index stands in a private file that fits the log."""
    path = index_of(log)
    assert stat.S_IMODE(path.lstat().st_mode) == 0o600
    with closing(sqlite3.connect(path)) as database:
        ((count,),) = database.execute("SELECT count(*) FROM events").fetchall()
    return int(count) == len(Log.read(log).events)


def garbage(path: Path) -> None:
    path.write_bytes(random.Random(1).randbytes(50_000))


def header_alone(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:100])


def half(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 8192 * 4096)


def nothing(path: Path) -> None:
    os.truncate(path, 0)


def torn_pages(path: Path) -> None:
    """Every other page is another's."""
    data = bytearray(path.read_bytes())
    for page in range(4096, len(data), 8192):
        data[page : page + 4096] = os.urandom(min(4096, len(data) - page))
    path.write_bytes(data)


def statements(*texts: str) -> Callable[[Path], None]:
    def harm(path: Path) -> None:
        with closing(sqlite3.connect(path)) as database:
            database.executescript(";".join(texts))

    return harm


HARMS: dict[str, Callable[[Path], None]] = {
    "deleted": Path.unlink,
    "garbage": garbage,
    "header alone": header_alone,
    "half": half,
    "empty": nothing,
    "torn pages": torn_pages,
    "older schema": statements("ALTER TABLE events DROP COLUMN own"),
    "newer schema": statements("ALTER TABLE events ADD COLUMN more"),
    "a table is gone": statements("DROP TABLE requests"),
    "without words": statements("DROP TABLE words"),
    "a trigger": statements(
        "CREATE TRIGGER t AFTER INSERT ON events BEGIN DELETE FROM events; END"
    ),
    "a view in a table's place": statements(
        "DROP TABLE calls", "CREATE VIEW calls AS SELECT 'c0' AS id, 1 AS call, 1 AS result"
    ),
    "another's tables": statements("DROP TABLE events", "CREATE TABLE events(what)"),
    "another version": statements(
        "UPDATE facts SET value=replace(value, '\"version\":1', '\"version\":99')"
    ),
    "facts that are none": statements("UPDATE facts SET value='[1'"),
    "no facts": statements("DELETE FROM facts"),
    "facts of the wrong kind": statements(
        'UPDATE facts SET value=replace(value, \'"count":\', \'"count":"many","more":\')'
    ),
    "a fold of nobody": statements(
        'UPDATE facts SET value=\'{"version":"1","seq":3,"state":7}\' WHERE name=\'folded\''
    ),
    "places that are wrong": statements("UPDATE events SET offset=offset+1"),
    "places beyond the end": statements("UPDATE events SET offset=offset+1000000"),
    "lengths beyond all memory": statements("UPDATE events SET length=length+1000000000000000"),
    "lengths below nothing": statements("UPDATE events SET length=-length"),
    "last line nowhere": statements(
        "UPDATE facts SET value=json_set(value, '$.tally.last[1]', 1000000000000000)"
        " WHERE name='known'"
    ),
    "events exchanged": statements("UPDATE events SET offset=0, length=9 WHERE seq=5"),
    "rows are missing": statements("DELETE FROM events WHERE seq BETWEEN 30 AND 40"),
    "rows are missing, and the fold": statements(
        "DELETE FROM events WHERE seq > 30", "DELETE FROM facts WHERE name='folded'"
    ),
    "open to others": lambda path: path.chmod(0o644),
}


@pytest.mark.parametrize("harm", HARMS.values(), ids=HARMS)
def test_harmed_index_costs_time_only(tmp_path: Path, harm: Callable[[Path], None]) -> None:
    log = session(tmp_path)
    harm(index_of(log))
    verify(log)
    assert was_kept(log)
    opened, report, events = open_log(tmp_path)
    with opened:
        assert report is None
        assert events == Log.read(log).events


@pytest.mark.parametrize("harm", HARMS.values(), ids=HARMS)
def test_index_harmed_while_it_is_open(tmp_path: Path, harm: Callable[[Path], None]) -> None:
    """No answer is wrong, whatever another program does to the file meanwhile."""
    log = session(tmp_path)
    with closing(Archive(log, Starts())) as archive:
        check(log, archive)
        harm(index_of(log))
        with log.open("ab") as file:
            file.write(encode(ev.Note(seq=archive.last_seq + 1, text="note-1")))
        check(log, archive)
    verify(log)


def test_index_of_another_log_is_not_believed(tmp_path: Path) -> None:
    """Nor that of an earlier state of this one, which was restored from somewhere."""
    log, other = session(tmp_path / "one"), session(tmp_path / "two", turns=9)
    shutil.copy(index_of(other), index_of(log))
    index_of(log).chmod(0o600)
    verify(log)
    other.write_bytes(log.read_bytes() + encode(ev.Note(seq=1_000, text="note-1")))
    verify(other)


def test_copied_session_is_read_as_its_original(tmp_path: Path) -> None:
    log = session(tmp_path / "one")
    copy = Path(shutil.copytree(log.parent, tmp_path / "two")) / log.name
    copy.write_bytes(copy.read_bytes().replace(b"turn 3", b"toll 3"))
    verify(copy)
    verify(log)


def test_log_edited_in_place_with_the_same_size(tmp_path: Path) -> None:
    log = session(tmp_path)
    data = log.read_bytes()
    for old, new in [(b"turn 3", b"toll 3"), (b"turn 19", b"note-19"), (b"c0", b"c7")]:
        data = data.replace(old, new)
        with log.open("r+b") as file:
            file.write(data)
        verify(log)


def test_last_line_that_changed_under_the_same_time_is_seen(tmp_path: Path) -> None:
    """A log put back by a program that puts its time back too."""
    log = session(tmp_path)
    before = log.stat()
    with log.open("r+b") as file:
        file.write(log.read_bytes().replace(b"turn 19", b"note-19"))
    os.utime(log, ns=(before.st_atime_ns, before.st_mtime_ns))
    verify(log)


def test_log_cut_behind_its_index(tmp_path: Path) -> None:
    log = session(tmp_path)
    for size in range(log.stat().st_size, 0, -997):
        os.truncate(log, size)
        with closing(Archive(log, Starts())) as archive:
            check(log, archive)


def test_log_replaced_while_it_is_read(tmp_path: Path) -> None:
    log, other = session(tmp_path / "one"), session(tmp_path / "two", turns=9)
    with closing(Archive(log, Starts())) as archive:
        check(log, archive)
        other.replace(log)
        check(log, archive)


def test_writer_reads_its_own_log_whatever_stands_in_its_place(tmp_path: Path) -> None:
    """REL-3: deleted, and another log put there, while the session goes on."""
    log = new_log(tmp_path)
    log.append(turn(0), turn(2))
    for others in (b"", b"another's\n"):
        first = tuple(log.archive.events())
        log.path.unlink()
        if others:
            log.path.write_bytes(others)
        assert tuple(log.archive.events()) == first
        assert log.event(2) == first[1]
        log.append(turn(4))
        assert tuple(log.archive.events())[: len(first)] == first
    log.close()
    verify(log.path)


def test_reader_follows_a_writer_at_work(tmp_path: Path) -> None:
    """Batches and lines that are under way are not there yet; nothing else is missing."""
    log = session(tmp_path, turns=2)
    data = log.read_bytes()
    more = b"".join(map(encode, numbered(*drafts(4))))[len(data) :]
    first = ev.LlmResponse(seq=1_000, req=1, parts=(), finish="calls", batch=3)
    rest = [ev.ToolCall(seq=1_000 + n, resp=1, call_id=f"c{n}", name="t", arguments="")
            for n in (1, 2)]  # fmt: skip
    more += encode(first) + b"".join(map(encode, rest))
    with closing(Archive(log, Starts())) as archive:
        for end in range(0, len(more) + 1, 101):
            log.write_bytes(data + more[:end])  # the same file, with more in it
            archive.catch_up()
            assert tuple(archive.events()) == Log.read(log).events
        log.write_bytes(data + more)
        check(log, archive)


def test_events_that_the_disk_refuses_are_found_too(tmp_path: Path) -> None:
    """ENG-3: held in memory, they are as good as any other."""
    with new_log(tmp_path) as log:
        log.append(turn(0))
        with files_at_most(log.path.stat().st_size):
            (held,) = log.append(turn(1), must=False)
            assert log.unsaved == 1
            assert log.event(held.seq) == held
            assert log.archive.event(held.seq) is None
        assert log.event(2) == log.archive.event(2)
        assert log.event(99) is None


def test_damage_that_only_its_reading_shows_is_mended(tmp_path: Path) -> None:
    """ENG-5: a block of NULs within the window, and nothing else about the log is changed."""
    log = session(tmp_path)
    before, data = log.stat(), log.read_bytes()
    with log.open("r+b") as file:
        file.seek(len(data) - 2_000)
        file.write(b"\0" * 300)
    os.utime(log, ns=(before.st_atime_ns, before.st_mtime_ns))
    damage = Log.read(log).damage
    opened, report, events = open_log(tmp_path)
    with opened:
        assert isinstance(report, ev.SessionRecovered)
        assert report.missing == damage.missing
        assert events == Log.read(log).events
    verify(log)
