"""ENG-4: one writer a session, by real processes."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from nodwyn_tui.errors import SessionLocked, StoreError
from nodwyn_tui.store.lock import SessionLock, turn

HOLD = """
import sys, time
from pathlib import Path
from nodwyn_tui.store.lock import SessionLock
lock = SessionLock.take(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.readline()
"""

RACE = """
import sys
from pathlib import Path
from nodwyn_tui.errors import SessionLocked
from nodwyn_tui.store.lock import SessionLock
sys.stdin.readline()
try:
    lock = SessionLock.take(Path(sys.argv[1]))
    print("held", flush=True)
except SessionLocked as error:
    print(error.pid, flush=True)
sys.stdin.readline()
"""


def start(code: str, *arguments: str | Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def end(child: subprocess.Popen[str]) -> None:
    child.kill()
    child.communicate()


def test_second_opener_is_told_who_holds_it(tmp_path: Path) -> None:
    path = tmp_path / "session" / "log.lock"
    path.parent.mkdir()
    child = start(HOLD, path)
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == "held\n"
        with pytest.raises(SessionLocked, match=f"session is open .*pid {child.pid}") as caught:
            SessionLock.take(path)
        assert caught.value.pid == child.pid
    finally:
        end(child)


def test_lock_of_a_killed_process_is_taken_over(tmp_path: Path) -> None:
    path = tmp_path / "log.lock"
    child = start(HOLD, path)
    assert child.stdout is not None
    assert child.stdout.readline() == "held\n"
    os.kill(child.pid, signal.SIGKILL)
    child.communicate()
    assert path.read_text() == f"{child.pid}\n"
    lock = SessionLock.take(path)
    assert path.read_text() == f"{os.getpid()}\n"
    lock.release()
    lock.release()
    assert path.read_text() == ""
    SessionLock.take(path).release()


def test_one_of_several_racing_processes_gets_it(tmp_path: Path) -> None:
    """REL-5: the others are told the winner's pid, or that it is not known yet."""
    path = tmp_path / "log.lock"
    children = [start(RACE, path) for _ in range(4)]
    try:
        for child in children:
            assert child.stdin is not None
            child.stdin.write("go\n")
            child.stdin.flush()
        said = {child.pid: child.stdout.readline().strip() for child in children if child.stdout}
        (winner,) = [pid for pid, word in said.items() if word == "held"]
        assert {int(word) for word in said.values() if word != "held"} <= {winner, 0}
    finally:
        for child in children:
            end(child)


def test_same_process_cannot_open_twice(tmp_path: Path) -> None:
    lock = SessionLock.take(tmp_path / "log.lock")
    with pytest.raises(SessionLocked) as caught:
        SessionLock.take(tmp_path / "log.lock")
    assert caught.value.pid == os.getpid()
    lock.release()


def test_holder_that_is_not_known_is_pid_zero(tmp_path: Path) -> None:
    path = tmp_path / "log.lock"
    lock = SessionLock.take(path)
    path.write_text("what?")
    with pytest.raises(SessionLocked) as caught:
        SessionLock.take(path)
    assert caught.value.pid == 0
    lock.release()


def test_replaced_lock_file_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "log.lock"
    lock = SessionLock.take(path)
    assert lock.stands()
    path.unlink()
    assert not lock.stands()
    path.write_text("")
    assert not lock.stands()
    lock.release()


def test_link_pipe_and_missing_folder_are_refused(tmp_path: Path) -> None:
    """SEC-2: a lock file that a repository put there leads nowhere and hangs nothing."""
    (tmp_path / "target").write_text("precious")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    os.mkfifo(tmp_path / "pipe")
    for name in ("link", "pipe", "gone/log.lock"):
        with pytest.raises(StoreError, match=name) as caught:
            SessionLock.take(tmp_path / name)
        assert not isinstance(caught.value, SessionLocked)
    with pytest.raises(StoreError), turn(tmp_path / "gone" / "x"):
        pass
    assert (tmp_path / "target").read_text() == "precious"


COUNT = """
import sys
from pathlib import Path
from nodwyn_tui.store.lock import turn
folder = Path(sys.argv[1])
for _ in range(50):
    with turn(folder / "turn"):
        path = folder / "count"
        path.write_text(str(int(path.read_text()) + 1))
"""


def test_turns_are_taken_one_after_the_other(tmp_path: Path) -> None:
    (tmp_path / "count").write_text("0")
    children = [start(COUNT, tmp_path) for _ in range(3)]
    for child in children:
        child.communicate(timeout=30)
    assert (tmp_path / "count").read_text() == "150"
