"""C68, REL-3: the disk is full, limited, or fails; then it takes writes again."""

import errno
import fcntl
import os
from pathlib import Path

import pytest

from nodwyn_tui.domain import events as ev
from nodwyn_tui.errors import StoreError
from nodwyn_tui.store.appending import LogFile, open_for_append
from nodwyn_tui.store.lock import SessionLock
from nodwyn_tui.store.log import Log
from tests.fakes.disks import files_at_most, fill
from tests.fakes.sessions import called_reply, new_log, open_log, session_folder, turn


def size_of(log: Log) -> int:
    return log.path.stat().st_size


def test_full_disk_holds_what_arrives_and_saves_it_later(small_disk: Path) -> None:
    """C68: shown all the time as unsaved; nothing lost or twice; all there after a resume."""
    log = new_log(small_disk)
    log.append(turn(0))
    filler = fill(small_disk)
    held = [*log.append(*called_reply(2), must=False)]
    for _ in range(20):  # what fits in the last started page of the file is still saved
        held += log.append(ev.ToolResult(call_id="c0", name="t", text="x" * 900), must=False)
    assert log.unsaved > 10
    assert "No space left" in log.why
    assert "Free some space" in log.why
    unsaved, seq = log.unsaved, log.next_seq
    with pytest.raises(StoreError, match="No space left"):
        log.append(turn(2))
    assert (log.unsaved, log.next_seq) == (unsaved, seq)
    assert not log.flush_held()
    assert not Log.read(log.path).damage

    filler.unlink()
    (third,) = log.append(turn(2))
    assert (log.unsaved, log.why) == (0, "")
    log.close()
    again, report, events = open_log(small_disk)
    again.close()
    assert report is None
    assert events[2:] == (*held, third)
    assert [event.seq for event in events] == list(range(1, third.seq + 1))


def test_full_disk_still_opens_a_sound_log(small_disk: Path) -> None:
    """And a damaged one is refused with its reason, untouched, until there is room."""
    with new_log(small_disk) as log:
        log.append(turn(0))
    data = log.path.read_bytes()
    filler = fill(small_disk)
    again, _, events = open_log(small_disk)
    again.close()
    assert len(events) == 2
    log.path.write_bytes(data[:-30])
    with pytest.raises(StoreError, match="Free some space"):
        open_log(small_disk)
    assert log.path.read_bytes() == data[:-30]
    assert len(Log.read(log.path).events) == 1
    filler.unlink()
    again, report, _ = open_log(small_disk)
    again.close()
    assert report is not None


@pytest.mark.parametrize("must", [True, False])
def test_part_of_an_append_is_taken_back(tmp_path: Path, must: bool) -> None:
    """ENG-3: a disk that takes half a batch leaves none of it in the log."""
    with new_log(tmp_path) as log:
        log.append(turn(0))
        before = log.path.read_bytes()
        with files_at_most(size_of(log) + 400):
            if must:
                with pytest.raises(StoreError, match="ulimit"):
                    log.append(*called_reply(3))
                assert (log.unsaved, log.next_seq) == (0, 3)
                assert log.why
            else:
                held = log.append(*called_reply(3), must=False)
                assert [event.seq for event in held] == [3, 4, 5, 6]
                assert (log.unsaved, log.next_seq) == (4, 7)
            assert log.path.read_bytes() == before
        (more,) = log.append(turn(2))
        assert log.why == ""
    events = Log.read(log.path).events
    assert events[2:] == ((more,) if must else (*held, more))


def test_what_is_held_stays_in_order_before_what_comes(tmp_path: Path) -> None:
    """ENG-3: several held appends; the disk then has room for some of them only."""
    with new_log(tmp_path) as log:
        with files_at_most(size_of(log)):
            for number in range(3):
                log.append(ev.Note(text=f"{number}" * 300), must=False)
        with files_at_most(size_of(log) + 900):
            assert not log.flush_held()
            assert log.unsaved == 1
            with pytest.raises(StoreError):
                log.append(ev.UserMessage(text="go"))
        with files_at_most(size_of(log)):
            log.append(ev.Note(text="3"), must=False)
        assert log.unsaved == 2
    assert log.unsaved == 0  # closing tried once more
    assert [event.text[0] for event in Log.read(log.path).events[1:]] == list("0123")  # type: ignore[attr-defined]


def test_close_tells_what_could_not_be_saved(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    with files_at_most(size_of(log)):
        log.append(turn(1), must=False)
        log.close()
        assert log.unsaved == 1
    again, report, events = open_log(tmp_path)
    again.close()
    assert (report, len(events)) == (None, 1)


def test_failed_sync_counts_as_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a failed sync nobody knows what reached the disk: it is taken back and written anew."""
    fsync, fails = os.fsync, iter([True])

    def failing(fd: int) -> None:
        if next(fails, False):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        fsync(fd)

    with new_log(tmp_path) as log:
        before = log.path.read_bytes()
        with monkeypatch.context() as patched:
            patched.setattr(os, "fsync", failing)
            log.append(turn(0), must=False)
            assert log.path.read_bytes() == before
            assert "Input/output error" in log.why
            assert log.flush_held()
    assert [event.seq for event in Log.read(log.path).events] == [1, 2]


def test_interrupt_in_the_middle_of_an_append_leaves_none_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl+C between two halves of a write."""
    write = os.write

    def interrupted(fd: int, data: bytes) -> int:
        write(fd, data[:10])
        raise KeyboardInterrupt

    with new_log(tmp_path) as log:
        before = log.path.read_bytes()
        with monkeypatch.context() as patched:
            patched.setattr(os, "write", interrupted)
            with pytest.raises(KeyboardInterrupt):
                log.append(turn(0))
        assert log.path.read_bytes() == before
        (event,) = log.append(turn(0))
        assert event.seq == 2


@pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="needs a file that can't shrink")
def test_half_that_cannot_be_taken_back_becomes_a_line_of_its_own(tmp_path: Path) -> None:
    """A file that refuses even to be cut: the next append begins on a new line."""
    path = session_folder(tmp_path) / "log.jsonl"
    os.close(open_for_append(path, new=True))
    fd = os.memfd_create("log", os.MFD_ALLOW_SEALING)
    file = LogFile(path, fd, SessionLock.take(path.with_name("log.lock")))
    file.append(b"first\n", sync=True)
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
    with files_at_most(10), pytest.raises(StoreError):
        file.append(b"second\n", sync=True)
    assert os.pread(fd, 99, 0) == b"first\nseco"
    file.append(b"second\n", sync=True)
    file.append(b"third\n", sync=False)
    assert os.pread(fd, 99, 0) == b"first\nseco\nsecond\nthird\n"
    file.close()
    file.close()
