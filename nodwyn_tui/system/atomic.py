"""Files written whole, or not at all. Nothing here appends: that is the log's own business."""

import contextlib
import errno
import itertools
import os
import secrets
import stat
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from nodwyn_tui.errors import StoreError

if sys.platform == "darwin":
    import fcntl

_PINNED = {os.open, os.rename, os.stat, os.unlink} <= os.supports_dir_fd
"""Whether a folder can be held open and named by its descriptor (everywhere but on Windows)."""

_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_FOLLOW | getattr(os, "O_BINARY", 0)

_REMEDIES = {
    errno.ENOSPC: "Free some space on that disk, then try again",
    errno.EDQUOT: "Free some of your quota, then try again",
    errno.EACCES: "Make it accessible to you (chmod, chown), then try again",
    errno.EPERM: "Make it accessible to you (chmod, chown), then try again",
    errno.EROFS: "That file system is read-only: mount it writable, or work elsewhere",
    errno.ENOENT: "Put the folder back, or work elsewhere",
    errno.ENOTDIR: "A file stands where a folder is needed: move it away",
    errno.EEXIST: "Something of that name is in the way: move it away",
    errno.ELOOP: "A symbolic link stands there: put a real file or folder in its place",
    errno.EFBIG: "The file reached the size limit set for it: raise the limit (ulimit -f)",
}


def disk_error(doing: str, path: Path, error: OSError) -> StoreError:
    """What `error` means for the person: what failed (`doing` is a verb), where, and the remedy."""
    why = error.strerror or str(error)
    remedy = _REMEDIES.get(error.errno or 0, "Check the disk, then try again")
    return StoreError(f"cannot {doing} {path}: {why}. {remedy}.")


def sync_file(fd: int) -> None:
    """Returns once the file's bytes are on the medium; `OSError` if the disk refuses.

    On macOS `fsync` only hands them to the drive, so `F_FULLFSYNC` is asked first (ENG-3).
    """
    if sys.platform == "darwin":
        with contextlib.suppress(
            OSError
        ):  # some file systems refuse it: then fsync is all there is
            fcntl.fcntl(fd, fcntl.F_FULLFSYNC)
            return
    os.fsync(fd)


def sync_folder(path: Path) -> None:
    """Returns once the names in a folder are on the medium; `OSError` if the disk refuses."""
    if _PINNED:
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def make_private_dir(path: Path) -> None:
    """Makes `path` and what is missing above it, for the owner alone (0700).

    What stood above it stays as it is; `path` itself is closed to others if it was open to them.
    Raises `StoreError`.
    """
    try:
        missing = list(itertools.takewhile(lambda level: not level.exists(), (path, *path.parents)))
        for level in reversed(missing):
            with contextlib.suppress(FileExistsError):  # another process was as quick
                level.mkdir(mode=0o700)
                sync_folder(level.parent)
        if stat.S_IMODE(path.stat().st_mode) & 0o077:
            path.chmod(0o700)
    except OSError as error:
        raise disk_error("make the folder", path, error) from error


def write_whole(
    path: Path,
    data: bytes | Iterable[bytes],
    mode: int | None = None,
    *,
    inside: Path | None = None,
) -> None:
    """Replaces `path` by a file that holds `data`, in one step: after a crash at any point it has
    its old content or the new one, never a part. The data may come in pieces.

    `mode` is set exactly; without it a file keeps the mode (and, where allowed, the owner) it had,
    and a new one gets what the umask leaves. A symbolic link at `path` is refused rather than
    replaced or followed: resolve it first. With `inside`, no folder between that one and the file
    may be a link either, so that a link put there after the caller looked leads nowhere (SEC-2).
    Raises `StoreError`; then the old file is untouched.
    """
    try:
        with _open_folder(path, inside) as folder:
            _replace(path, folder, data, mode)
    except OSError as error:
        raise disk_error("write", path, error) from error


@contextlib.contextmanager
def _open_folder(path: Path, inside: Path | None) -> Iterator[int | None]:
    """The folder of `path`, held open, so that it stays the same one until the file is in it."""
    if not _PINNED:
        yield None
        return
    flags = os.O_RDONLY | os.O_DIRECTORY
    folder = os.open(path.parent if inside is None else inside, flags)
    try:
        for name in path.parent.relative_to(inside).parts if inside is not None else ():
            deeper = os.open(name, flags | _NO_FOLLOW, dir_fd=folder)
            os.close(folder)
            folder = deeper
        yield folder
    finally:
        os.close(folder)


def _replace(
    path: Path, folder: int | None, data: bytes | Iterable[bytes], mode: int | None
) -> None:
    base = "" if folder is not None else f"{path.parent}{os.sep}"
    temporary = f"{base}.{secrets.token_hex(8)}.tmp"
    final = base + path.name
    old = _existing(final, folder)
    first_mode = mode if mode is not None else stat.S_IMODE(old.st_mode) if old else 0o666
    fd = os.open(temporary, _NEW_FILE, first_mode & 0o777, dir_fd=folder)
    placed = False
    try:
        try:
            _fill(fd, data, mode, old)
        finally:
            os.close(fd)
        os.replace(temporary, final, src_dir_fd=folder, dst_dir_fd=folder)
        placed = True
    finally:
        if not placed:
            with contextlib.suppress(OSError):
                os.unlink(temporary, dir_fd=folder)
    if folder is not None:
        os.fsync(folder)  # the name is on the disk too


def _existing(name: str, folder: int | None) -> os.stat_result | None:
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if stat.S_ISLNK(found.st_mode):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    if stat.S_ISDIR(found.st_mode):
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
    return found


def _fill(
    fd: int, data: bytes | Iterable[bytes], mode: int | None, old: os.stat_result | None
) -> None:
    if hasattr(os, "fchmod"):
        if old is not None and (old.st_uid, old.st_gid) != (os.geteuid(), os.getegid()):
            with contextlib.suppress(PermissionError):  # only root may give a file away
                os.fchown(fd, old.st_uid, old.st_gid)
        if mode is not None or old is not None:
            os.fchmod(fd, mode if mode is not None else stat.S_IMODE(old.st_mode if old else 0))
    for piece in (data,) if isinstance(data, bytes) else data:
        rest = memoryview(piece)
        while rest:
            rest = rest[os.write(fd, rest) :]
    sync_file(fd)
