"""The tour's throw-away workspace."""

import tomllib
from contextlib import nullcontext
from importlib.resources import files
from pathlib import Path

import pytest

from nodwyn_tui.errors import StoreError
from nodwyn_tui.tour.sample import SAMPLE, lock_of, prepare_workspace, remove_earlier

ROOT = Path(__file__).parent.parent.parent


def test_a_tour_gets_a_fresh_copy_and_earlier_ones_go(tmp_path: Path) -> None:
    first = prepare_workspace(tmp_path, "one")
    assert first == tmp_path / "tour" / "one"
    (first / ".nodwyn").mkdir()
    (first / "portions.py").write_text("changed")
    lock_of(tmp_path, "one").touch()
    remove_earlier(tmp_path, lambda _: nullcontext(True))
    assert list((tmp_path / "tour").iterdir()) == []
    second = prepare_workspace(tmp_path, "two")
    assert sorted(path.name for path in second.iterdir()) == sorted(SAMPLE)
    assert "//" in (second / "portions.py").read_text()


def test_a_tour_that_goes_on_elsewhere_stays(tmp_path: Path) -> None:
    """REL-5."""
    first, second = (prepare_workspace(tmp_path, name) for name in ("one", "two"))
    taken = lock_of(tmp_path, "one")
    remove_earlier(tmp_path, lambda path: nullcontext(path != taken))
    assert first.is_dir()
    assert not second.exists()


def test_the_list_of_files_is_whole() -> None:
    source = files("nodwyn_tui.tour") / "workspace"
    assert {item.name for item in source.iterdir() if item.is_file()} == set(SAMPLE)


def test_the_wheel_takes_the_sample_along() -> None:
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]
    assert wheel["targets"]["wheel"]["packages"] == ["nodwyn_tui"]


def test_an_id_is_one_folders_name(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not a folder's name"):
        prepare_workspace(tmp_path, "../x")


def test_a_cache_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "cache").touch()
    with pytest.raises(StoreError, match="NODWYN_HOME"):
        remove_earlier(tmp_path / "cache", lambda _: nullcontext(True))
    with pytest.raises(StoreError, match="NODWYN_HOME"):
        prepare_workspace(tmp_path / "cache", "t")
