"""REL-3, C68: the log, its folder or the workspace is deleted, replaced or moved under us."""

import os
import shutil
from pathlib import Path

import pytest

from nodwyn_tui.domain import events as ev
from nodwyn_tui.errors import SessionLocked, StoreError
from nodwyn_tui.store.lock import SessionLock
from nodwyn_tui.store.log import Log
from tests.fakes.sessions import new_log, open_log, turn


def started(workspace: Path) -> Log:
    workspace.mkdir()
    log = new_log(workspace)
    for number in range(3):
        log.append(turn(number))
    return log


def said(log: Log) -> list[str]:
    """The types in the file at the log's path; it has no damage."""
    contents = Log.read(log.path)
    assert not contents.damage
    return [event.type for event in contents.events]


WHOLE = ["session.start", "user.message", "llm.resp", "user.message"]


def test_deleted_log_is_written_again_whole(tmp_path: Path) -> None:
    with started(tmp_path / "w") as log:
        log.path.unlink()
        recorded, note = log.append(turn(3))
        assert said(log) == [*WHOLE, "llm.resp", "note"]
        assert isinstance(note, ev.Note)
        assert "written again" in note.text
        assert recorded.batch == 2
        log.append(turn(4))
        assert said(log)[-1] == "user.message"
    again, report, _ = open_log(tmp_path / "w")
    again.close()
    assert report is None


def test_deleted_folder_comes_back_private_ignored_and_locked(tmp_path: Path) -> None:
    """C68: `git clean -fdx` in the middle of a session."""
    with started(tmp_path / "w") as log:
        shutil.rmtree(tmp_path / "w" / ".nodwyn")
        log.append(turn(3), must=False)
        assert log.unsaved == 0
        assert said(log) == [*WHOLE, "llm.resp", "note"]
        assert log.path.parent.stat().st_mode & 0o777 == 0o700
        assert (tmp_path / "w" / ".nodwyn" / ".gitignore").read_text() == "*\n"
        with pytest.raises(SessionLocked):
            SessionLock.take(log.path.with_name("log.lock"))


def test_deleted_workspace_is_not_made_again_but_waited_for(tmp_path: Path) -> None:
    """What was typed is refused visibly, what arrives is held; with the workspace all is saved."""
    workspace = tmp_path / "w"
    with started(workspace) as log:
        shutil.rmtree(workspace)
        with pytest.raises(StoreError, match="Put it back"):
            log.append(turn(4))
        log.append(turn(3), must=False)
        assert log.unsaved == 1
        assert str(workspace) in log.why
        assert not workspace.exists()
        workspace.mkdir()
        assert log.flush_held()
        log.append(turn(4))
        assert said(log) == [*WHOLE, "llm.resp", "user.message", "note"]


def test_moved_workspace_takes_its_log_along(tmp_path: Path) -> None:
    """The session is written on where it is now."""
    with started(tmp_path / "w") as log:
        (tmp_path / "w").rename(tmp_path / "elsewhere")
        log.append(turn(3))
        assert not log.path.exists()
    again, report, events = open_log(tmp_path / "elsewhere")
    again.close()
    assert report is None
    assert [event.type for event in events] == [*WHOLE, "llm.resp"]


def test_what_took_the_logs_place_is_kept_beside_it(tmp_path: Path) -> None:
    """An editor that saved its own version; a link that would lead elsewhere (SEC-2)."""
    target = tmp_path / "target"
    target.write_bytes(b"precious")
    with started(tmp_path / "w") as log:
        own = log.path.with_name("own")
        own.write_bytes(b"edited\n")
        own.replace(log.path)
        _, note = log.append(turn(3))
        assert isinstance(note, ev.Note)
        assert "log.replaced-1" in note.text
        log.path.unlink()
        log.path.symlink_to(target)
        log.append(turn(4))
        assert log.path.with_name("log.replaced-1").read_bytes() == b"edited\n"
        assert log.path.with_name("log.replaced-2").readlink() == target
        assert said(log) == [*WHOLE, "llm.resp", "note", "user.message", "note"]
    assert target.read_bytes() == b"precious"


def test_folder_that_another_process_took_is_not_written(tmp_path: Path) -> None:
    """REL-5: two writers never share a log."""
    with started(tmp_path / "w") as log:
        shutil.rmtree(log.path.parent)
        log.path.parent.mkdir()
        other = SessionLock.take(log.path.with_name("log.lock"))
        with pytest.raises(StoreError, match="open in another process"):
            log.append(turn(4))
        log.append(turn(3), must=False)
        assert (log.unsaved, log.path.exists()) == (1, False)
        other.release()
        assert log.flush_held()
        log.append(turn(4))
        assert said(log) == [*WHOLE, "llm.resp", "user.message", "note"]


def test_log_that_another_program_cut_or_wrote_to_goes_on(tmp_path: Path) -> None:
    """A note says so at once; what is missing is named at the next opening."""
    with started(tmp_path / "w") as log:
        size = log.path.stat().st_size
        with log.path.open("ab") as file:
            file.write(b"rubbish without an end")
        _, note = log.append(turn(3))
        assert isinstance(note, ev.Note)
        assert "22 bytes more" in note.text
        os.truncate(log.path, size - 10)
        _, note = log.append(turn(4))
        assert isinstance(note, ev.Note)
        assert "bytes less" in note.text
        assert len(log.append(turn(5))) == 1
    again, report, events = open_log(tmp_path / "w")
    again.close()
    assert isinstance(report, ev.SessionRecovered)
    assert report.missing == (4, 5, 6)
    assert [event.seq for event in events] == [1, 2, 3, 7, 8, 9, 10]


@pytest.mark.skipif(os.name == "nt", reason="modes of folders")
def test_folder_made_read_only_while_open_is_written_on(tmp_path: Path) -> None:
    """C68: the file is open already; nothing is lost, nothing needs to be said."""
    with started(tmp_path / "w") as log:
        for mode in (0o500, 0o000):
            log.path.parent.chmod(mode)
            try:
                assert len(log.append(turn(4))) == 1
            finally:
                log.path.parent.chmod(0o700)
        assert log.unsaved == 0
        assert said(log) == [*WHOLE, "user.message", "user.message"]
