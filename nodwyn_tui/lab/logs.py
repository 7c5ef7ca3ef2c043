"""Which logs a path means: a log, a session's folder, or a folder of any number of either."""

from collections.abc import Iterator
from pathlib import Path

from nodwyn_tui.errors import UsageError
from nodwyn_tui.store.places import LOG_NAME
from nodwyn_tui.system.atomic import disk_error


def logs_at(path: Path) -> list[Path]:
    """The logs at `path`, which exists, in order of their names: every `log.jsonl` at any depth,
    and what else ends in `.jsonl` right in the folder. `UsageError` if there is none, `StoreError`
    if the folder can't be read.
    """
    if path.is_file():
        return [path]
    try:
        found = sorted(set(_beneath(path)))
    except OSError as error:
        raise disk_error("read the folder", path, error) from error
    if not found:
        raise UsageError(
            f"there is no session log in {path}: give a log, a session's folder, a workspace, or a"
            " folder of logs"
        )
    return found


def _beneath(folder: Path) -> Iterator[Path]:
    own = folder / ".nodwyn" / "sessions"
    if own.is_dir():  # a workspace: the sources beside its sessions need no search
        yield from own.glob(f"*/{LOG_NAME}")
        return
    yield from folder.glob("*.jsonl")
    yield from folder.rglob(LOG_NAME)
