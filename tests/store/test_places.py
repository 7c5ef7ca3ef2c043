"""ENG-1: where sessions lie."""

import hashlib
import os
import stat
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from nodwyn_tui.errors import StoreError
from nodwyn_tui.store.places import (
    SESSION_ID,
    created_here,
    discard,
    known_workspaces,
    make_session_folder,
    new_id,
    new_session,
    remember,
    shelves,
    workspace_of,
)

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def test_id_is_the_time_in_utc_and_eight_hex_digits() -> None:
    name = new_id(NOW.astimezone(timezone(timedelta(hours=5))))
    assert name.startswith("20260102T030405Z-")
    assert SESSION_ID.fullmatch(name)
    assert len({new_id(NOW) for _ in range(50)}) == 50


def test_new_session_lies_in_the_workspace(tmp_path: Path) -> None:
    workspace, state = tmp_path / "w", tmp_path / "state"
    workspace.mkdir()
    folder = new_session(workspace, state, new_id(NOW))
    assert folder.parent == workspace / ".nodwyn" / "sessions"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert (workspace / ".nodwyn" / ".gitignore").read_text() == "*\n"
    assert known_workspaces(state) == [workspace]


def test_gitignore_of_ones_own_is_left_alone(tmp_path: Path) -> None:
    home = tmp_path / ".nodwyn"
    home.mkdir()
    (home / ".gitignore").write_text("mine\n")
    make_session_folder(home / "sessions" / "s")
    assert (home / ".gitignore").read_text() == "mine\n"


@pytest.mark.parametrize("way", ["a file in the way", "a link", "a link below", "read-only"])
def test_workspace_that_cannot_be_written_falls_back_to_the_state_folder(
    tmp_path: Path, way: str
) -> None:
    """ENG-1, SEC-4: nor is anything written through a link that a repository holds."""
    workspace, state, elsewhere = tmp_path / "w", tmp_path / "state", tmp_path / "elsewhere"
    workspace.mkdir()
    elsewhere.mkdir()
    match way:
        case "a file in the way":
            (workspace / ".nodwyn").write_text("")
        case "a link":
            (workspace / ".nodwyn").symlink_to(elsewhere)
        case "a link below":
            (workspace / ".nodwyn").mkdir()
            (workspace / ".nodwyn" / "sessions").symlink_to(elsewhere)
        case _:
            workspace.chmod(0o500)
            if os.access(workspace, os.W_OK):
                pytest.skip("root writes everywhere")
    folder = new_session(workspace, state, new_id(NOW))
    digest = hashlib.sha256(str(workspace).encode()).hexdigest()[:16]
    assert folder.parent == state / "sessions" / digest == shelves(workspace, state)[1]
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert list(elsewhere.iterdir()) == []
    assert not (state / ".gitignore").exists()


def test_neither_place_is_an_error_with_a_remedy(tmp_path: Path) -> None:
    for name in ("w", "state"):
        (tmp_path / name).write_text("")
    with pytest.raises(StoreError, match="move it away"):
        new_session(tmp_path / "w", tmp_path / "state", new_id(NOW))


def test_list_of_workspaces_has_the_latest_first(tmp_path: Path) -> None:
    state = tmp_path / "state"
    assert known_workspaces(state) == []
    odd = tmp_path / os.fsdecode(b"odd \xff\n name")
    for number, workspace in enumerate([tmp_path / "a", odd, tmp_path / "b"]):
        remember(workspace, state)
        for entry in (state / "workspaces").iterdir():
            if os.fsdecode(entry.read_bytes()) == str(workspace):
                os.utime(entry, (number, number))
    (state / "workspaces" / ".left-over.tmp").write_text("x")
    assert known_workspaces(state) == [tmp_path / "b", odd, tmp_path / "a"]
    remember(tmp_path / "a", state)
    assert known_workspaces(state)[0] == tmp_path / "a"


def test_empty_session_is_discarded_whole(tmp_path: Path) -> None:
    folder = new_session(tmp_path, tmp_path / "state", new_id(NOW))
    (folder / "log.jsonl").write_text("")
    discard(folder, tmp_path / "state")
    assert list(folder.parent.iterdir()) == []
    with pytest.raises(StoreError, match="cannot remove"):
        discard(folder, tmp_path / "state")


def test_session_that_a_repository_brought_along_is_not_ones_own(tmp_path: Path) -> None:
    """SEC-4."""
    folder = new_session(tmp_path / "ws", tmp_path / "state", new_id(NOW))
    assert created_here(folder.name, tmp_path / "state")
    assert not created_here("20260101T000000Z-00000000", tmp_path / "state")


def test_session_belongs_where_it_lies_whatever_its_log_says(tmp_path: Path) -> None:
    """SEC-4: also in a copy of a project, and after a project was moved."""
    workspace, state = tmp_path / "w", tmp_path / "state"
    workspace.mkdir()
    folder = new_session(workspace, state, new_id(NOW))
    for recorded in (str(workspace), "/", "/etc", ""):
        assert workspace_of(folder, recorded, state) == workspace
    kept = state / "sessions" / hashlib.sha256(b"/unwritable").hexdigest()[:16] / folder.name
    assert workspace_of(kept, "/unwritable", state) == Path("/unwritable")
    assert workspace_of(kept, "/etc", state) is None
    assert workspace_of(tmp_path / "elsewhere" / folder.name, "/etc", state) is None
