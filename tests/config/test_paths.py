"""Where things lie."""

from pathlib import Path

import pytest

from nodwyn_tui.config.environment import environment_of
from nodwyn_tui.config.paths import find_paths
from nodwyn_tui.errors import ConfigError


def test_a_home_holds_all_three(tmp_path: Path) -> None:
    home = tmp_path / "own"
    paths = find_paths(environment_of({"NODWYN_HOME": str(home)}))
    assert paths.config_file == home / "config.toml"
    assert paths.state == home / "state"
    assert paths.cache == home / "cache"
    assert not home.exists()


def test_the_nearest_word_names_the_file(tmp_path: Path) -> None:
    environment = environment_of({"NODWYN_HOME": str(tmp_path), "NODWYN_CONFIG": "/x/y.toml"})
    assert find_paths(environment).config_file == Path("/x/y.toml")
    assert not find_paths(environment).config_given
    given = find_paths(environment, "here.toml")
    assert given.config_file == Path.cwd() / "here.toml"
    assert given.config_given


def test_the_platform_has_a_place_for_each() -> None:
    paths = find_paths(environment_of({}))
    places = [paths.config_file, paths.state, paths.cache]
    assert all(place.is_absolute() and "nodwyn" in str(place) for place in places)
    assert len(set(places)) == 3


def test_a_tilde_is_the_home_folder() -> None:
    assert find_paths(environment_of({"NODWYN_HOME": "~/n"})).state == Path.home() / "n" / "state"


def test_a_home_that_is_not_there_is_said() -> None:
    with pytest.raises(ConfigError, match="give the full path"):
        find_paths(environment_of({"NODWYN_HOME": "~no-such-user-here"}))
