"""Files written whole, or not at all."""

import os
import resource
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from nodwyn_tui.errors import StoreError
from nodwyn_tui.system.atomic import disk_error, make_private_dir, sync_file, write_whole


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_new_file_gets_what_the_umask_leaves(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_whole(tmp_path / "new", b"a\r\n\0\xff")
    finally:
        os.umask(before)
    assert (tmp_path / "new").read_bytes() == b"a\r\n\0\xff"
    assert mode_of(tmp_path / "new") == 0o640


def test_file_keeps_its_mode_and_a_given_mode_is_exact(tmp_path: Path) -> None:
    path = tmp_path / "own" / "script"
    path.parent.mkdir()
    path.write_bytes(b"old")
    path.chmod(0o751)
    write_whole(path, b"new")
    assert (path.read_bytes(), mode_of(path)) == (b"new", 0o751)
    write_whole(path, b"newer", 0o600)
    assert (path.read_bytes(), mode_of(path)) == (b"newer", 0o600)
    assert [entry.name for entry in path.parent.iterdir()] == ["script"]


def test_symbolic_link_is_neither_followed_nor_replaced(tmp_path: Path) -> None:
    """C75: the caller resolves a link; unresolved, nothing is written anywhere."""
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"precious")
    link.symlink_to(target)
    with pytest.raises(StoreError, match="symbolic link"):
        write_whole(link, b"x")
    assert link.is_symlink()
    assert target.read_bytes() == b"precious"


def test_inside_refuses_a_linked_folder_on_the_way(tmp_path: Path) -> None:
    """SEC-2: a folder swapped for a link after the caller looked leads nowhere."""
    root, outside = tmp_path / "root", tmp_path / "outside"
    (root / "a" / "b").mkdir(parents=True)
    (outside / "b").mkdir(parents=True)
    write_whole(root / "a" / "b" / "file", b"1", inside=root)
    assert (root / "a" / "b" / "file").read_bytes() == b"1"
    (root / "a").rename(tmp_path / "gone")
    (root / "a").symlink_to(outside)
    with pytest.raises(StoreError):
        write_whole(root / "a" / "b" / "file", b"2", inside=root)
    assert list((outside / "b").iterdir()) == []


def test_errors_name_the_path_and_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"gone/file.*Put the folder back") as caught:
        write_whole(tmp_path / "gone" / "file", b"")
    assert isinstance(caught.value.__cause__, FileNotFoundError)
    (tmp_path / "folder").mkdir()
    with pytest.raises(StoreError, match="folder"):
        write_whole(tmp_path / "folder", b"")
    assert "Check the disk" in str(disk_error("write", tmp_path, OSError("odd")))


@pytest.mark.skipif(sys.platform == "win32", reason="no size limit on files there")
def test_failed_write_leaves_the_old_file_and_no_litter(tmp_path: Path) -> None:
    """REL-3: a disk that takes only a part of the new content."""
    path = tmp_path / "own" / "file"
    path.parent.mkdir()
    path.write_bytes(b"old")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
        with pytest.raises(StoreError, match="ulimit"):
            write_whole(path, b"x" * 5000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in path.parent.iterdir()] == ["file"]


WRITER = """
import sys
from pathlib import Path
from nodwyn_tui.system.atomic import write_whole
path = Path(sys.argv[1])
n = 0
while True:
    n += 1
    write_whole(path, (b"%09d" % n) * 20000)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")
def test_killed_writer_leaves_one_whole_version(tmp_path: Path) -> None:
    """REL-1: whatever the moment, the file has the content of one write."""
    path = tmp_path / "file"
    write_whole(path, b"%09d" % 0 * 20000)
    for round_ in range(6):
        child = subprocess.Popen([sys.executable, "-c", WRITER, str(path)])
        time.sleep(0.15 + 0.013 * round_)
        child.kill()
        child.wait()
        data = path.read_bytes()
        assert len(data) == 180000
        assert data == data[:9] * 20000


def test_private_folders_are_for_the_owner_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        make_private_dir(tmp_path / "a" / "b")
    finally:
        os.umask(before)
    assert mode_of(tmp_path / "a") == mode_of(tmp_path / "a" / "b") == 0o700
    (tmp_path / "a").chmod(0o755)
    make_private_dir(tmp_path / "a" / "b")
    assert mode_of(tmp_path / "a") == 0o755  # not ours to change
    (tmp_path / "a" / "b").chmod(0o755)
    make_private_dir(tmp_path / "a" / "b")
    assert mode_of(tmp_path / "a" / "b") == 0o700
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StoreError, match="move it away"):
        make_private_dir(tmp_path / "file" / "x")


def test_sync_refuses_what_cannot_be_synced() -> None:
    reader, writer = os.pipe()
    try:
        with pytest.raises(OSError, match="Invalid argument"):
            sync_file(writer)
    finally:
        os.close(reader)
        os.close(writer)
