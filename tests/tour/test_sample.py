"""The tour's throw-away workspace."""

import tomllib
from importlib.resources import files
from pathlib import Path

import pytest

from nodwyn_tui.errors import StoreError
from nodwyn_tui.tour.sample import SAMPLE, prepare_workspace

ROOT = Path(__file__).parent.parent.parent


def test_a_tour_gets_a_fresh_copy_and_the_earlier_one_goes(tmp_path: Path) -> None:
    first = prepare_workspace(tmp_path, "one")
    assert first == tmp_path / "tour" / "one"
    (first / ".nodwyn").mkdir()
    (first / "portions.py").write_text("changed")
    second = prepare_workspace(tmp_path, "two")
    assert sorted(path.name for path in second.iterdir()) == sorted(SAMPLE)
    assert "//" in (second / "portions.py").read_text()
    assert not first.exists()
    assert prepare_workspace(tmp_path, "two") == second


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
        prepare_workspace(tmp_path / "cache", "t")
