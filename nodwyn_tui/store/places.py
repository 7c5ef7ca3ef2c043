"""Where sessions lie (ENG-1): in the workspace's `.nodwyn`, or in the person's state folder where
the workspace can't be written. Folders and names only; what is in a log stands elsewhere.
"""

import contextlib
import hashlib
import os
import re
import secrets
import shutil
from datetime import UTC, datetime
from pathlib import Path

from nodwyn_tui.errors import StoreError
from nodwyn_tui.system.atomic import disk_error, make_private_dir, write_whole

LOG_NAME = "log.jsonl"
LOCK_NAME = "log.lock"
ARTIFACTS_NAME = "artifacts"
SESSION_ID = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{8}")


def new_id(now: datetime) -> str:
    """A session's id: when it began, in UTC, and 8 random hex digits."""
    return f"{now.astimezone(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(4)}"


def new_session(workspace: Path, state: Path, name: str) -> Path:
    """Makes the folder of a new session called `name` (`new_id`), and puts the workspace on the
    state folder's list. Raises `StoreError` if neither place can be written.
    """
    own, fallback = (shelf / name for shelf in shelves(workspace, state))
    try:
        if leads_elsewhere(workspace):
            raise StoreError(f"{workspace / '.nodwyn'} is a symbolic link")  # noqa: TRY301 - same turn as an unwritable one
        make_session_folder(own)
        folder = own
    except StoreError:
        make_session_folder(fallback)
        folder = fallback
    with contextlib.suppress(StoreError):  # the session is there; only seeking it from afar is not
        remember(workspace, state)
        make_private_dir(state / "created")
        write_whole(state / "created" / name, b"", 0o600)
    return folder


def created_here(name: str, state: Path) -> bool:
    """Whether a session was begun by this person's own program. A repository may bring folders of
    its own making along, and no session of those goes on without being named (SEC-4).
    """
    return (state / "created" / name).is_file()


def make_session_folder(folder: Path) -> None:
    """Makes a session's folder, private, and keeps git from seeing it. Raises `StoreError`."""
    make_private_dir(folder)
    home = folder.parent.parent
    if home.name == ".nodwyn" and not os.path.lexists(home / ".gitignore"):
        write_whole(home / ".gitignore", b"*\n", 0o600)


def discard(folder: Path, state: Path) -> None:
    """Removes the folder of a session in which nothing was said. Raises `StoreError`."""
    try:
        shutil.rmtree(folder)
        (state / "created" / folder.name).unlink(missing_ok=True)
    except OSError as error:
        raise disk_error("remove", folder, error) from error


def workspace_of(folder: Path, recorded: str, state: Path) -> Path | None:
    """The workspace that a session belongs to: the one that it lies in, else the `recorded` one if
    the state folder keeps its sessions; `None` for a folder that lies elsewhere.

    A log's own word is not taken for it. It may have come along with a repository, and name any
    folder (SEC-4); and in a copy of a project it names the original.
    """
    shelf = folder.resolve().parent
    if shelf.name == "sessions" and shelf.parent.name == ".nodwyn":
        return shelf.parent.parent
    if recorded and shelf == (state / "sessions" / _digest(Path(recorded))).resolve():
        return Path(recorded)
    return None


def shelves(workspace: Path, state: Path) -> tuple[Path, Path]:
    """The folders in which sessions of a workspace may lie; the second for an unwritable one."""
    return workspace / ".nodwyn" / "sessions", state / "sessions" / _digest(workspace)


def prompt_folder(workspace: Path, state: Path) -> Path:
    """Where a workspace's draft and prompt history lie."""
    return state / "prompts" / _digest(workspace)


def memory_folder(workspace: Path) -> Path | None:
    """Where a workspace's memory lies; `None` where a link stands in the way."""
    home = workspace / ".nodwyn"
    return None if home.is_symlink() or (home / "memory").is_symlink() else home / "memory"


def remember(workspace: Path, state: Path) -> None:
    """Puts a workspace on the list: one small file each, so that processes never overwrite each
    other's entries. Raises `StoreError`.
    """
    make_private_dir(state / "workspaces")
    write_whole(state / "workspaces" / _digest(workspace), os.fsencode(workspace), 0o600)


def known_workspaces(state: Path) -> list[Path]:
    """The workspaces on the list, the latest first. Raises `StoreError`."""
    folder = state / "workspaces"
    try:
        found = [
            (entry.stat().st_mtime_ns, os.fsdecode(entry.read_bytes()))
            for entry in (folder.iterdir() if folder.is_dir() else ())
            if re.fullmatch("[0-9a-f]{16}", entry.name)
        ]
    except OSError as error:
        raise disk_error("read the list of workspaces in", folder, error) from error
    return [Path(name) for _, name in sorted(found, reverse=True)]


def _digest(workspace: Path) -> str:
    return hashlib.sha256(os.fsencode(workspace)).hexdigest()[:16]


def leads_elsewhere(workspace: Path) -> bool:
    """Whether a link stands in place of the workspace's folder of sessions, as a repository may
    hold one: nothing is written or sought through it (SEC-4).
    """
    home = workspace / ".nodwyn"
    return home.is_symlink() or (home / "sessions").is_symlink()
