"""ROL-11: the key that cursors are sealed with is the person's own, and nobody can plant it."""

import stat
from pathlib import Path

import pytest

from nodwyn_tui.store.history_key import NAME, history_key


def test_a_session_keeps_its_key_and_shares_it_with_none(tmp_path: Path) -> None:
    state = tmp_path / "state"
    key = history_key(state, "s-1")
    assert len(key) == 32
    assert key == history_key(state, "s-1")
    assert key != history_key(state, "s-2")
    assert key != history_key(tmp_path / "another", "s-1")


def test_it_lies_in_the_state_folder_for_the_person_alone(tmp_path: Path) -> None:
    state = tmp_path / "state"
    key = history_key(state, "s-1")
    assert [path.name for path in state.iterdir()] == [NAME]
    assert stat.S_IMODE((state / NAME).stat().st_mode) == 0o600
    assert key not in (state / NAME).read_bytes(), "each session's is made from it"


@pytest.mark.parametrize("content", [b"", b"short", b"x" * 33])
def test_a_spoilt_file_is_made_anew(tmp_path: Path, content: bytes) -> None:
    (tmp_path / NAME).write_bytes(content)
    key = history_key(tmp_path, "s-1")
    assert (tmp_path / NAME).read_bytes() != content
    assert key == history_key(tmp_path, "s-1")


def test_a_link_in_its_place_is_not_followed(tmp_path: Path) -> None:
    planted = tmp_path / "planted"
    planted.write_bytes(b"k" * 32)
    state = tmp_path / "state"
    state.mkdir()
    (state / NAME).symlink_to(planted)
    assert history_key(state, "s-1") != history_key(state, "s-1"), "of this call alone"
    assert planted.read_bytes() == b"k" * 32


def test_without_a_state_folder_there_is_a_key_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file")
    assert len(history_key(tmp_path / "state", "s-1")) == 32
