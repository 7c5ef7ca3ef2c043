"""The entry that a model gets in `config.toml`."""

import tomllib
from pathlib import Path

from nodwyn_tui.config.entries import free_name, lead_with
from nodwyn_tui.config.environment import Environment
from nodwyn_tui.config.files import load_settings


def test_an_entry_holds_what_its_server_needs(tmp_path: Path) -> None:
    """PRV-3: a cache that is asked for, where a server of Anthropic's protocol wants that."""
    file = tmp_path / "config.toml"
    for server in ("anthropic", "groq"):
        lead_with(load_settings(file, Environment()), server, f"of {server}")
    assert tomllib.loads(file.read_text())["models"] == {
        "of anthropic": {
            "server": "anthropic",
            "model": "of anthropic",
            "cache_control": "ephemeral",
        },
        "of groq": {"server": "groq", "model": "of groq"},
    }


def test_names_never_meet(tmp_path: Path) -> None:
    """C74: an id's end, then with its server, then with a number."""
    file = tmp_path / "config.toml"
    servers = ("groq", "mistral", "xai")
    names = [lead_with(load_settings(file, Environment()), each, "vendor/m") for each in servers]
    names.append(lead_with(load_settings(file, Environment()), "xai", "other/m"))
    assert names == ["m", "m (mistral)", "m (xai)", "m (2)"]
    loaded = load_settings(file, Environment())
    assert not loaded.problems
    assert lead_with(loaded, "mistral", "vendor/m") == "m (mistral)", "it has its entry"
    assert tomllib.loads(file.read_text())["model"] == "m (mistral)"
    assert free_name(loaded, "groq", "vendor/") == "vendor/"
