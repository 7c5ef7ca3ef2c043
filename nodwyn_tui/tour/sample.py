"""The throw-away workspace of a tour: a fresh copy of the small project in `workspace/`."""

import shutil
from importlib.resources import files
from pathlib import Path

from nodwyn_tui.errors import StoreError
from nodwyn_tui.system.atomic import write_whole

SAMPLE = ("README.md", "portions.py", "shopping.py", "test_portions.py")


def prepare_workspace(cache: Path, tour_id: str) -> Path:
    """Makes `<cache>/tour/<tour_id>` and removes those of earlier tours, with their sessions.

    `StoreError` where the cache folder cannot be written.
    """
    tours = cache / "tour"
    workspace = tours / tour_id
    if workspace.parent != tours:
        raise ValueError(f"not a folder's name: {tour_id!r}")
    source = files("nodwyn_tui.tour") / "workspace"
    try:
        for earlier in list(tours.iterdir()) if tours.is_dir() else ():
            shutil.rmtree(earlier)
        workspace.mkdir(parents=True, mode=0o700)
    except OSError as error:
        raise StoreError(
            f"the tour's workspace {workspace} cannot be made ({error.strerror}); name another "
            "place with NODWYN_HOME"
        ) from error
    for name in SAMPLE:
        write_whole(workspace / name, (source / name).read_bytes())
    return workspace
