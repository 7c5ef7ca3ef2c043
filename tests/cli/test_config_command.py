"""`nodwyn config`: the settings without the screen."""

import functools
import json
import secrets
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Nodwyn

FILE = """\
model = "a.b"  # mine

[models."a.b"]
server = "anthropic"
model = "claude-x"
"""


@pytest.fixture
def config(home: Path) -> Path:
    file = home / "config.toml"
    file.write_text(FILE)
    return file


@pytest.fixture
def command(nodwyn: Nodwyn) -> Nodwyn:
    return functools.partial(nodwyn, "config")


def shown(command: Nodwyn) -> dict[str, Any]:
    done = command("show", "--json")
    assert done.returncode == 0
    return {each["key"]: each for each in json.loads(done.stdout)["settings"]}


def test_it_says_where_the_file_is(config: Path, command: Nodwyn, tmp_path: Path) -> None:
    assert command("path").stdout == f"{config}\n"
    assert command("path", "--config", str(tmp_path / "x")).stdout == f"{tmp_path / 'x'}\n"


def test_it_shows_each_value_with_its_origin(
    config: Path, command: Nodwyn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TUI-5's rows, on the command line."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", secrets.token_hex(20))
    found = shown(command)
    assert found["model"]["value"] == "a.b"
    assert found["model"]["origin"] == "file"
    assert found['models."a.b".keep_reasoning']["value"] == "true"
    assert found["servers.anthropic.credential"]["origin"] == "environment"
    assert "ollama" in found['models."a.b".num_ctx']["why_not"]
    lines = command("show").stdout
    assert "num_ctx" not in lines
    assert "file" in next(line for line in lines.splitlines() if line.startswith("model "))


def test_one_is_set_and_taken_out_again(config: Path, command: Nodwyn) -> None:
    """C73: keys are written as in the file; comments stay."""
    assert command("set", 'models."a.b".effort', "high").returncode == 0
    assert command("set", "approvals.allow", "shell: git *\nfs-read: docs/*").returncode == 0
    values = tomllib.loads(config.read_text())
    assert values["models"]["a.b"]["effort"] == "high"
    assert values["approvals"]["allow"] == ["shell: git *", "fs-read: docs/*"]
    assert "# mine" in config.read_text()
    assert command("unset", 'models."a.b".effort').returncode == 0
    assert command("unset", "approvals.allow").returncode == 0
    assert tomllib.loads(config.read_text())["models"] == tomllib.loads(FILE)["models"]
    assert command("unset", 'models."a.b"').returncode == 0
    assert "model" not in tomllib.loads(config.read_text())


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("mode", "wild", "plan | ask | edits | auto"),
        ("models.new.model", "x", "has no server"),
        ("colour", "blue", "no setting colour"),
        ("a b", "1", "is no key"),
        ("window.high_water", "-1", "above 0"),
    ],
)
def test_what_may_not_stand_there_is_refused(
    config: Path, command: Nodwyn, key: str, value: str, words: str
) -> None:
    """C72."""
    done = command("set", key, value)
    assert done.returncode == 2
    assert words in done.stderr
    assert config.read_text() == FILE


def test_a_key_is_no_setting(config: Path, command: Nodwyn) -> None:
    """SEC-1: neither taken nor shown."""
    key = secrets.token_hex(20)
    done = command("set", "servers.anthropic.credential", key)
    assert done.returncode == 2
    assert key not in done.stderr + done.stdout
    assert config.read_text() == FILE


def test_a_setting_that_does_nothing_there_is_warned_of(config: Path, command: Nodwyn) -> None:
    done = command("set", 'models."a.b".summary', "auto")
    assert done.returncode == 0
    assert "has no effect on a server that speaks anthropic" in done.stderr


def test_it_checks_the_file(config: Path, command: Nodwyn) -> None:
    """C72: each wrong entry a line, and exit code 2."""
    assert command("check").returncode == 0
    config.write_text(FILE + "\n[window]\nhigh_water = 'large'\nlow_water = -1\n")
    done = command("check")
    assert done.returncode == 2
    assert "high_water" in done.stderr
    assert "low_water" in done.stderr
    missing = command("check", "--config", str(config.with_name("other.toml")))
    assert missing.returncode == 2
    assert "no such file" in missing.stderr


def test_a_model_is_added_with_its_settings(home: Path, nodwyn: Nodwyn) -> None:
    """PRV-3: and with the cache ask of its server, unless another one is set."""
    add = functools.partial(nodwyn, "models", "add")
    where = ("--server", "anthropic", "--model", "claude-x")
    done = add("x", *where, "--set", "effort=low", "--set", "price.input=2", "--lead")
    assert done.returncode == 0, done.stderr
    assert add("y", *where, "--set", "cache_control=1h").returncode == 0
    assert add("z", *where, "--set", "effort").returncode == 2
    assert add("z", *where, "--set", "colour=blue").returncode == 2
    assert add("z", *where, "--set", "high_water=large").returncode == 2
    values = tomllib.loads((home / "config.toml").read_text())
    assert values["model"] == "x"
    assert values["models"]["x"] == {
        "server": "anthropic",
        "model": "claude-x",
        "effort": "low",
        "price": {"input": 2},
        "cache_control": "ephemeral",
    }
    assert values["models"]["y"]["cache_control"] == "1h"
    assert "z" not in values["models"]
