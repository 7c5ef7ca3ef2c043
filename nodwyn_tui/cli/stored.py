"""Where a stored session lies, for the commands that read logs alone."""

from pathlib import Path

from nodwyn_tui.config.environment import read_environment
from nodwyn_tui.config.paths import find_paths
from nodwyn_tui.store import sessions


def find_log(reference: str) -> Path:
    """The log that an id, a prefix, a folder or a path means; `UsageError` for none."""
    return sessions.find_log(reference, Path.cwd(), state_folder())


def state_folder() -> Path:
    """Where the list of workspaces is, and the sessions of those that cannot be written."""
    return find_paths(read_environment()).state
