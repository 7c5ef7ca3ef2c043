"""The index's file: private, none but our own, and what is read of log and index at an opening."""

import os
import sqlite3
import stat
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from nodwyn_tui.domain import events as ev
from nodwyn_tui.store.archive import Archive
from nodwyn_tui.store.log import Log
from nodwyn_tui.store.redact import Redactor
from tests.fakes.archives import check, drafts, index_of, numbered, session, verify, written
from tests.fakes.folding import Started, Starts
from tests.fakes.sessions import ToldClock, new_log, session_folder, start, turn

BESIDE = ("", "-wal", "-shm", "-journal")


def test_index_is_private(tmp_path: Path) -> None:
    """SEC-1: also while it is being written."""
    with new_log(tmp_path) as log:
        log.append(turn(0))
        log.archive.catch_up()
        found = [path for path in log.path.parent.iterdir() if path.name.startswith("index.")]
        assert len(found) > 1
        assert {stat.S_IMODE(path.stat().st_mode) for path in found} == {0o600}
    assert stat.S_IMODE(index_of(log.path).stat().st_mode) == 0o600
    assert not index_of(log.path).with_name("index.sqlite-wal").exists()


def soft(place: Path, victim: Path) -> None:
    place.symlink_to(victim)


def hard(place: Path, victim: Path) -> None:
    place.hardlink_to(victim)


def nowhere(place: Path, victim: Path) -> None:
    place.symlink_to(victim.with_name("not there yet"))


def folder(place: Path, _victim: Path) -> None:
    place.mkdir()
    (place / "inside").write_text("kept")


def pipe(place: Path, _victim: Path) -> None:
    os.mkfifo(place, 0o600)


@pytest.mark.parametrize("plant", [soft, hard, nowhere, folder, pipe])
@pytest.mark.parametrize("ending", BESIDE)
def test_planted_file_is_never_followed(
    tmp_path: Path, plant: Callable[[Path, Path], None], ending: str
) -> None:
    """SEC-4: what a repository put in an index's place leads nowhere; nothing of it is used."""
    log = session(tmp_path)
    victim = tmp_path / "victim"
    victim.write_bytes(index_of(log).read_bytes())
    victim.chmod(0o600)
    before = victim.read_bytes()
    index_of(log).unlink()
    place = log.with_name(f"index.sqlite{ending}")
    plant(place, victim)
    verify(log)
    assert victim.read_bytes() == before
    assert not victim.with_name("not there yet").exists()
    if plant is folder:
        assert (place / "inside").read_text() == "kept"
    else:
        assert stat.S_ISREG(index_of(log).lstat().st_mode)


def test_log_of_another_name_gets_no_file_beside_it(tmp_path: Path) -> None:
    """Neither does one that is a link to another place."""
    log = written(tmp_path, numbered(*drafts(3)), "copy.jsonl")
    link = tmp_path / "linked" / "log.jsonl"
    link.parent.mkdir()
    link.symlink_to(log)
    link.with_name("no-replay").touch()  # its requests are made up
    verify(log)
    verify(link)
    assert sorted(path.name for path in tmp_path.rglob("*")) == [
        "copy.jsonl", "home", "linked", "log.jsonl", "no-replay",
    ]  # fmt: skip


def test_another_version_of_a_fold_has_the_events_folded_anew(tmp_path: Path) -> None:
    """The rows stay: it is no reason to read all texts again."""
    log = session(tmp_path)
    before = rows_changed(log)
    with closing(Archive(log, Starts(version=2))) as archive:
        check(log, archive)
    assert rows_changed(log) == before
    with closing(sqlite3.connect(index_of(log))) as database:
        query = "SELECT json_extract(value, '$.version') FROM facts WHERE name='folded'"
        assert database.execute(query).fetchall() == [("2",)]


def rows_changed(log: Path) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(index_of(log))) as database:
        return database.execute("SELECT id, hex(block) FROM words_data").fetchall()


def test_reader_without_a_fold_leaves_the_one_that_is_there(tmp_path: Path) -> None:
    """It catches up when the one that knows it comes back."""
    log = session(tmp_path)
    more = numbered(*drafts(30))
    written(log.parent, more)
    os.utime(log)
    with closing(Archive(log)) as archive:
        check(log, archive)
        assert archive.fold is None
        assert archive.from_start() == tuple(archive.events())
    verify(log)


def test_fold_that_was_kept_is_fed_with_nothing_again(tmp_path: Path) -> None:
    log = session(tmp_path)
    fed: list[int] = []

    class Counted(Started):
        def feed(self, event: ev.Event) -> None:
            fed.append(event.seq)
            super().feed(event)

    class Counting(Starts):
        def new(self) -> Started:
            return Counted(super().new().tracker)

        def of(self, state: object) -> Started:
            kept = super().of(state)
            return Counted(kept.tracker, kept.count)

    with closing(Archive(log, Counting())) as archive:
        archive.catch_up()
        assert fed == []
        with log.open("ab") as file:
            file.write(
                written(tmp_path, numbered(*drafts(21)), "more").read_bytes()[log.stat().st_size :]
            )
        archive.catch_up()
        assert len(fed) == 4
    verify(log)


RESULT = ev.ToolResult(call_id="c", name="t", text="x" * 5_000)


def read_of_this_process() -> int:
    """Bytes that this process has read by calls of the system."""
    for line in Path("/proc/self/io").read_text().splitlines():
        if line.startswith("rchar: "):
            return int(line.split()[1])
    raise AssertionError("no figure")


def opened_size(folder: Path) -> tuple[int, int]:
    """Bytes read by an opening, and how many events it gave."""
    before = read_of_this_process()
    log, opened = Log.open(folder, ToldClock(), Redactor(), Starts())
    took = read_of_this_process() - before
    log.close()
    return took, len(opened.events)


@pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="counts through /proc")
def test_opening_with_a_warm_index_reads_the_window_and_not_the_log(tmp_path: Path) -> None:
    """PERF-3: a log a hundred times as long, and the same window."""
    figures = []
    for name, windows in [("short", 1), ("long", 100)]:
        long = [ev.WindowReset(kind="manual", reason="clear"), *[RESULT] * 20] * windows
        log = written(session_folder(tmp_path / name), numbered(start(), *long))
        opened_size(log.parent)  # makes the index, and loads modules
        figures.append((log.stat().st_size, *opened_size(log.parent)))
    (short, few, window), (long_, many, same) = figures
    assert window == same
    assert long_ > 80 * short
    assert few < 2 * short
    assert many < few + 20_000  # the index's own pages
