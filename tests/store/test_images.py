"""The store of images: one private file an image, whatever happens (IMG-4)."""

import hashlib
import os
import stat
from pathlib import Path

import pytest

from nodwyn_tui.errors import StoreError
from nodwyn_tui.store.images import ImageFiles
from tests.fakes.disks import files_at_most

DATA = b"\x89PNG and more"
DIGEST = hashlib.sha256(DATA).hexdigest()


@pytest.fixture
def files(tmp_path: Path) -> ImageFiles:
    return ImageFiles(tmp_path / ".nodwyn" / "sessions" / "20260101T000000Z-00000000")


def test_where_images_lie(tmp_path: Path) -> None:
    """Beside the workspace's sessions, or in the state folder beside those of that workspace."""
    own = ImageFiles(tmp_path / "ws" / ".nodwyn" / "sessions" / "s")
    assert own.folder == tmp_path / "ws" / ".nodwyn" / "attachments"
    state = ImageFiles(tmp_path / "state" / "sessions" / "0123456789abcdef" / "s")
    assert state.folder == tmp_path / "state" / "attachments" / "0123456789abcdef"


def test_an_image_is_kept_once_and_privately(files: ImageFiles) -> None:
    assert files.keep(DATA) == DIGEST
    path = files.path(DIGEST)
    first = path.stat()
    assert files.keep(DATA) == DIGEST
    assert path.stat().st_ino == first.st_ino
    assert stat.S_IMODE(first.st_mode) == 0o600
    assert stat.S_IMODE(files.folder.stat().st_mode) == 0o700
    assert files.names() == [DIGEST]
    assert files.read(DIGEST, len(DATA)) == DATA


def test_a_damaged_one_is_mended_when_it_comes_again(files: ImageFiles) -> None:
    files.keep(DATA)
    files.path(DIGEST).write_bytes(b"other")
    assert files.read(DIGEST) == "changed"
    files.keep(DATA)
    assert files.read(DIGEST, len(DATA)) == DATA


def test_what_is_not_what_it_was(files: ImageFiles) -> None:
    """IMG-5: missing and changed are told apart; size, digest and kind of file are looked at."""
    assert files.read(DIGEST) == "missing"
    assert files.read("../../etc/passwd") == "missing"
    files.keep(DATA)
    assert files.read(DIGEST, len(DATA) + 1) == "changed"
    path = files.path(DIGEST)
    path.unlink()
    path.symlink_to("/etc/hostname")
    assert files.read(DIGEST) == "changed"
    path.unlink()
    os.mkfifo(path)
    assert files.read(DIGEST) == "changed"


def test_nothing_is_read_or_written_through_a_link(files: ImageFiles, tmp_path: Path) -> None:
    """SEC-4: a repository may bring a link in the folder's place."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / DIGEST).write_bytes(DATA)
    files.folder.parent.mkdir()
    files.folder.symlink_to(elsewhere)
    assert files.read(DIGEST) == "missing"
    (elsewhere / DIGEST).unlink()
    with pytest.raises(StoreError):
        files.keep(DATA)
    assert list(elsewhere.iterdir()) == []


def test_a_full_disk_leaves_nothing_by_halves(files: ImageFiles) -> None:
    data = b"x" * 5000
    with files_at_most(1000), pytest.raises(StoreError, match="cannot write"):
        files.keep(data)
    assert files.names() == []
    assert list(files.folder.iterdir()) == []
