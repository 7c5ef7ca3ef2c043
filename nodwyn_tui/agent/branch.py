"""The git branch checked out in a folder, read from its files: git need not be there."""

from pathlib import Path

_REF = "ref: refs/heads/"


def branch_of(workspace: Path) -> str:
    """The branch, the first digits of a commit, or '' where there is no repository."""
    head = _read(_git_folder(workspace) / "HEAD")
    return head.removeprefix(_REF) if head.startswith("ref: ") else head[:10]


def _git_folder(workspace: Path) -> Path:
    """The repository's folder; in a worktree `.git` is a file that names it."""
    named = _read(workspace / ".git").removeprefix("gitdir: ")
    return workspace / named if named else workspace / ".git"


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip() if path.is_file() else ""
    except (OSError, UnicodeDecodeError):
        return ""
