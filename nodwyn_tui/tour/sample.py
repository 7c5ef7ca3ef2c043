"""The throw-away workspace of a tour: a fresh copy of the small project in `workspace/`."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib.resources import files
from pathlib import Path

from nodwyn_tui.errors import StoreError
from nodwyn_tui.system.atomic import write_whole

SAMPLE = ("README.md", "portions.py", "shopping.py", "test_portions.py")

Claim = Callable[[Path], AbstractContextManager[bool]]
"""Holds the lock file at a path while its context lasts; gives whether it could."""


def lock_of(cache: Path, tour_id: str) -> Path:
    """The lock file that is held as long as a tour goes on."""
    return cache / "tour" / f"{tour_id}.lock"


def remove_earlier(cache: Path, claim: Claim) -> None:
    """Removes earlier tours with their sessions, but none that still goes on elsewhere.

    `StoreError` where the cache folder cannot be written.
    """
    tours = cache / "tour"
    with _told(tours):
        tours.mkdir(parents=True, exist_ok=True, mode=0o700)
        for earlier in list(tours.iterdir()):
            if not earlier.is_dir():
                continue
            lock = lock_of(cache, earlier.name)
            with claim(lock) as is_over:
                if is_over:
                    shutil.rmtree(earlier)
            if is_over:
                lock.unlink(missing_ok=True)


def prepare_workspace(cache: Path, tour_id: str) -> Path:
    """Makes `<cache>/tour/<tour_id>`. `StoreError` where the cache folder cannot be written."""
    tours = cache / "tour"
    workspace = tours / tour_id
    if workspace.parent != tours:
        raise ValueError(f"not a folder's name: {tour_id!r}")
    source = files("nodwyn_tui.tour") / "workspace"
    with _told(workspace):
        workspace.mkdir(parents=True, mode=0o700)
    for name in SAMPLE:
        write_whole(workspace / name, (source / name).read_bytes())
    return workspace


@contextmanager
def _told(place: Path) -> Iterator[None]:
    """What the disk refuses, in words that help."""
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"the tour's workspace {place} cannot be made ({error.strerror}); name another "
            "place with NODWYN_HOME"
        ) from error
