"""The git branch checked out in a folder, read from its files: git need not be there."""

import os
import re
from pathlib import Path

_HEAD = re.compile(r"ref: refs/heads/([^\s\x00-\x1f\x7f]{1,250})|([0-9a-f]{10})[0-9a-f]{30,}")
"""What a repository may say of its branch: nothing that would be read as more than a name."""
_LARGEST = 4_096


def branch_of(workspace: Path) -> str:
    """The branch, the first digits of a commit, or '' where there is no repository."""
    head = _HEAD.fullmatch(_read(git_folder(workspace) / "HEAD"))
    return (head[1] or head[2]) if head else ""


def root_of(workspace: Path) -> Path:
    """The folder with the repository that a workspace is, or is a part of; the workspace itself
    where there is none. One above that is another's counts for none, as git has it.
    """
    if os.path.lexists(workspace / ".git"):
        return workspace
    above = (folder for folder in workspace.parents if os.path.lexists(folder / ".git"))
    root = next(above, workspace)
    return root if owner_of(root / ".git") == owner_of(workspace) else workspace


def owner_of(path: Path) -> int:
    """Whose a file is; -1 where nobody can tell."""
    try:
        return path.stat().st_uid
    except OSError:
        return -1


def git_folder(workspace: Path) -> Path:
    """The repository's folder, if there is one; in a worktree `.git` is a file that names it."""
    root = root_of(workspace)
    named = _read(root / ".git").removeprefix("gitdir: ")
    return root / named if named else root / ".git"


def common_folder(git: Path) -> Path:
    """The folder that a worktree's one shares with the others, such as its settings."""
    return git / (_read(git / "commondir") or ".")


def _read(path: Path) -> str:
    try:
        if not path.is_file():  # a pipe would be waited for without end
            return ""
        with path.open("rb") as stream:
            return stream.read(_LARGEST).decode("utf-8").strip()
    except (OSError, UnicodeDecodeError, ValueError):
        return ""
