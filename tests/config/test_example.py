"""`config.toml.example` is right and complete."""

import re
import tomllib
from pathlib import Path

import pytest

from nodwyn_tui.config.allowed import known_keys
from nodwyn_tui.config.environment import environment_of
from nodwyn_tui.config.files import load_settings
from nodwyn_tui.config.schema import ModelSettings, ServerSettings, Settings
from nodwyn_tui.config.servers import built_in_servers

EXAMPLE = Path(__file__).parent.parent.parent / "config.toml.example"
TEXT = EXAMPLE.read_text(encoding="utf-8")
FULL = re.sub(r"(?m)^#(?=\S)", "", TEXT)
"""With the settings that are only shown set."""


@pytest.mark.parametrize("text", [TEXT, FULL], ids=["as it is", "all set"])
def test_it_loads_without_a_problem(text: str, tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(text, encoding="utf-8")
    loaded = load_settings(file, environment_of({}))
    assert [problem.text for problem in loaded.problems] == []
    assert loaded.settings.models.keys() == tomllib.loads(text)["models"].keys()
    assert {"local", "cloud"} <= loaded.settings.models.keys()


def test_every_setting_is_in_it() -> None:
    values = tomllib.loads(FULL)
    assert set(Settings.model_fields) == set(values)
    assert set(ServerSettings.model_fields) == {
        key for server in values["servers"].values() for key in server
    }
    assert set(ModelSettings.model_fields) == {
        key for model in values["models"].values() for key in model
    }
    for table in ("window", "approvals", "limits", "ui"):
        assert known_keys((table,)) == set(values[table])


def test_shown_defaults_are_the_defaults() -> None:
    """What is shown unset in [window] is what holds then, where the model does not decide."""
    values = tomllib.loads(FULL)["window"]
    defaults = Settings().window
    for key in ("output_reserve", "threshold", "fresh"):
        assert values[key] == getattr(defaults, key)
    assert Settings().ui.theme == tomllib.loads(TEXT)["ui"]["theme"]
    assert Settings().mode == tomllib.loads(TEXT)["mode"]


def test_every_well_known_server_is_named() -> None:
    for name in built_in_servers(environment_of({})):
        assert re.search(rf"\b{name}\b", TEXT)
