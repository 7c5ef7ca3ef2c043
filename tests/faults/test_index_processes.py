"""ENG-7: processes that fill one index at once, are killed over it, or have no room for it."""

import os
import random
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import pytest

from nodwyn_tui.domain import events as ev
from nodwyn_tui.store import index
from nodwyn_tui.store.archive import Archive
from tests.fakes.archives import check, drafts, index_of, numbered, session, verify, written
from tests.fakes.disks import files_at_most, fill
from tests.fakes.folding import Starts
from tests.fakes.sessions import open_log, session_folder, turn

InChild = Callable[[Callable[[], None]], int]
ROUNDS = 20

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


@pytest.fixture
def small_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """A transaction takes in 2 kB of the log, so that there are many."""
    monkeypatch.setattr(index, "AT_ONCE", 2_000)


def long_log(workspace: Path) -> Path:
    log = written(session_folder(workspace), numbered(*drafts(150)))
    log.with_name("no-replay").touch()  # its requests are made up
    return log


def catch_up(log: Path) -> None:
    with closing(Archive(log, Starts())) as archive:
        assert archive.catch_up()


def rows(log: Path) -> int:
    with closing(sqlite3.connect(index_of(log))) as database:
        ((count,),) = database.execute("SELECT count(*) FROM events").fetchall()
    return int(count)


@pytest.mark.usefixtures("small_turns")
def test_killed_while_it_catches_up(tmp_path: Path, in_child: InChild) -> None:
    """REL-1: at any moment, by SIGKILL; the next one goes on from there."""
    log = long_log(tmp_path)
    began = time.monotonic()
    os.waitpid(in_child(lambda: catch_up(log)), 0)
    usual = time.monotonic() - began
    index_of(log).unlink()
    partial = 0
    for number in range(ROUNDS):
        child = in_child(lambda: catch_up(log))
        time.sleep(random.uniform(0, usual))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        with suppress(sqlite3.Error):  # it has no tables yet
            partial += 0 < rows(log) < 600
        with closing(Archive(log, Starts())) as archive:
            check(log, archive)
        if number % 3:
            index_of(log).unlink()
    assert partial > 3


@pytest.mark.usefixtures("small_turns")
def test_several_processes_catch_up_at_once(tmp_path: Path, in_child: InChild) -> None:
    log = long_log(tmp_path)

    def work() -> None:
        with closing(Archive(log, Starts())) as archive:
            check(log, archive)

    for _ in range(3):
        children = [in_child(work) for _ in range(4)]
        assert [os.waitpid(child, 0)[1] for child in children] == [0] * 4
        assert rows(log) == len(log.read_bytes().splitlines())
        index_of(log).unlink()


@pytest.mark.usefixtures("small_turns")
def test_readers_follow_while_a_writer_goes_on(tmp_path: Path, in_child: InChild) -> None:
    """The writer's own index is the one they read; nobody's answers are wrong at any moment."""
    log = long_log(tmp_path)

    def read() -> None:
        with closing(Archive(log, Starts())) as archive:
            for _ in range(15):
                archive.catch_up()
                assert [event.seq for event in archive.events()][-1] == archive.last_seq
                assert archive.fold is not None
                assert archive.fold.count == archive.count  # type: ignore[attr-defined]

    children = [in_child(read) for _ in range(2)]
    opened, _, _ = open_log(tmp_path)
    with opened:
        for number in range(60):
            opened.append(turn(number), turn(number + 1))
            assert opened.event(opened.next_seq - 1) is not None
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0]
    verify(log)


def test_no_room_for_an_index(small_disk: Path) -> None:
    """C68: it is held in memory then, and made when there is room."""
    log = written(session_folder(small_disk), numbered(*drafts(700)))
    log.with_name("no-replay").touch()
    filler = fill(small_disk)
    with closing(Archive(log, Starts())) as archive:
        check(log, archive)
    opened, report, events = open_log(small_disk)
    assert report is None
    opened.close()
    filler.unlink()
    verify(log)
    assert rows(log) == len(events)


def test_disk_that_fills_while_the_index_is_filled(tmp_path: Path) -> None:
    """C68: at any of its writes."""
    log = long_log(tmp_path)
    for size in range(0, 120_000, 20_000):
        with files_at_most(size), closing(Archive(log, Starts())) as archive:
            check(log, archive)
        index_of(log).unlink(missing_ok=True)


def test_folder_that_cannot_be_written(small_disk: Path) -> None:
    """With an index in it, and without one."""
    log = session(small_disk)
    remount = ["mount", "-o", "remount,ro", str(small_disk)]
    subprocess.run(remount, check=True)
    try:
        verify(log)
        subprocess.run([word.replace(",ro", ",rw") for word in remount], check=True)
        index_of(log).unlink()
        subprocess.run(remount, check=True)
        verify(log)
        assert not index_of(log).exists()
    finally:
        subprocess.run([word.replace(",ro", ",rw") for word in remount], check=True)


def test_index_grows_with_the_log_while_it_is_written(tmp_path: Path) -> None:
    """PERF-3: so the next opening finds it warm, after a kill too."""
    log = session(tmp_path)
    opened, _, _ = open_log(tmp_path)
    before = rows(log)
    for number in range(5):
        opened.append(ev.ToolResult(call_id=f"c{number}", name="t", text="é" * 300_000))
    assert rows(log) > before
    opened.close()
    assert rows(log) == len(log.read_bytes().splitlines())
