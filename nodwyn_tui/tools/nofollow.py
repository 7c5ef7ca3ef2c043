"""Opens and makes what stands at a true path without following a link that was put there since the
path was resolved (SEC-2). Files are written by `system/atomic.py`.
"""

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from typing import BinaryIO

from nodwyn_tui.errors import ToolError
from nodwyn_tui.tools.paths import Place

_HELD = {os.open, os.mkdir} <= os.supports_dir_fd
"""Whether folders can be held open by descriptor (everywhere but on Windows)."""

_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0)
_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


@contextlib.contextmanager
def opened(place: Place) -> Iterator[BinaryIO]:
    """The regular file at `place`, for reading. Raises `ToolError` if there is none, if something
    else stands there, or if a link was put in the way. A pipe or a device never blocks this.
    """
    try:
        with _held(place) as folder:
            name = str(place.path) if folder is None else place.path.name
            fd = os.open(name, _READ | _NO_FOLLOW, dir_fd=folder)
    except OSError as error:
        raise refusal(place, error) from error
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise ToolError(f"{place.shown} is no regular file; use the shell tool for it.")
    with os.fdopen(fd, "rb") as file:
        yield file


def make_folders(place: Place) -> None:
    """Makes the folders above `place` that are missing, following no link below its base. Raises
    `ToolError`.
    """
    if place.base is None or not _HELD:
        try:
            place.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise refusal(place, error) from error
        return
    try:
        with _held(place, make=True):
            pass
    except OSError as error:
        raise refusal(place, error) from error


def refusal(place: Place, error: OSError) -> ToolError:
    """What a failed look at `place` means, for the model."""
    if error.errno in (errno.ELOOP, errno.ENOTDIR):
        return ToolError(
            f"{place.shown}: a link or a file stands where a folder is needed; nothing was done."
            " List the folder, then call again."
        )
    if error.errno in (errno.EACCES, errno.EPERM):
        return ToolError(f"{place.shown}: the system does not permit it (permission denied).")
    return ToolError(f"{place.shown}: {error.strerror or error}.")


@contextlib.contextmanager
def _held(place: Place, *, make: bool = False) -> Iterator[int | None]:
    """The folder of `place`, reached from its base (else from its own folder) link by link."""
    if not _HELD:
        yield None
        return
    start = place.path.parent if place.base is None else place.base
    inner = place.path.relative_to(start).parts[:-1]
    if place.path == start:  # the base itself, which is a folder
        start, inner = start.parent, ()
    folder = os.open(start, _FOLDER)
    try:
        for name in inner:
            if make:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(name, dir_fd=folder)
            deeper = os.open(name, _FOLDER | _NO_FOLLOW, dir_fd=folder)
            os.close(folder)
            folder = deeper
        yield folder
    finally:
        os.close(folder)
