"""Which model a name means."""

from pathlib import Path

import pytest

from nodwyn_tui.config.environment import environment_of
from nodwyn_tui.config.files import load_settings
from nodwyn_tui.config.models import ModelChoice, choose_model, servers_with_key
from nodwyn_tui.errors import ConfigError

FILE = """
[servers.lan]
provider = "openai"
base_url = "http://10.0.0.5:8000/v1"
[models.local]
server = "ollama"
model = "qwen3-coder:30b"
[models."vendor/x-4.7:free"]
server = "lan"
model = "x"
[models.fast]
server = "cerebras"
model = "y"
"""


def choose(tmp_path: Path, text: str, wanted: str = "", **variables: str) -> ModelChoice | None:
    file = tmp_path / "config.toml"
    file.write_text(text)
    environment = environment_of(variables)
    return choose_model(load_settings(file, environment), environment, wanted)


def chosen(tmp_path: Path, text: str, wanted: str = "", **variables: str) -> ModelChoice:
    choice = choose(tmp_path, text, wanted, **variables)
    assert choice is not None
    return choice


def test_nothing_configured_is_no_choice(tmp_path: Path) -> None:
    """TUI-6: then a local Ollama is looked for."""
    assert choose(tmp_path, "") is None
    assert choose(tmp_path, "", OPENROUTER_API_KEY="k") is None


def test_the_named_model_wins_over_the_files(tmp_path: Path) -> None:
    assert chosen(tmp_path, 'model = "fast"' + FILE, "local").name == "local"
    assert chosen(tmp_path, 'model = "fast"' + FILE).name == "fast"


def test_without_a_word_the_first_entry_leads(tmp_path: Path) -> None:
    assert chosen(tmp_path, FILE).name == "local"


def test_an_entrys_name_may_look_like_anything(tmp_path: Path) -> None:
    """C73: a name with dots, slashes and colons is a name first."""
    choice = chosen(tmp_path, FILE, "vendor/x-4.7:free")
    assert (choice.name, choice.server_name, choice.model.model) == (
        "vendor/x-4.7:free",
        "lan",
        "x",
    )


@pytest.mark.parametrize(
    ("wanted", "server", "model"),
    [
        ("ollama/hf.co/u/m-GGUF:Q4_K_M", "ollama", "hf.co/u/m-GGUF:Q4_K_M"),
        ("lan/z", "lan", "z"),
        ("openrouter/anthropic/claude", "openrouter", "anthropic/claude"),
    ],
)
def test_server_and_id(tmp_path: Path, wanted: str, server: str, model: str) -> None:
    choice = chosen(tmp_path, FILE, wanted)
    assert (choice.name, choice.server_name, choice.model.model) == (wanted, server, model)


def test_a_bare_id_goes_to_the_one_server_with_a_key(tmp_path: Path) -> None:
    choice = chosen(tmp_path, FILE, "anthropic-x/claude", OPENROUTER_API_KEY="k")
    assert choice.name == "openrouter/anthropic-x/claude"
    with pytest.raises(ConfigError, match="several servers have a key: openrouter, groq"):
        choose(tmp_path, FILE, "claude", OPENROUTER_API_KEY="k", GROQ_API_KEY="k")
    with pytest.raises(ConfigError, match=r"local, vendor/x-4\.7:free, fast"):
        choose(tmp_path, FILE, "claude")


def test_a_credential_in_the_file_counts_as_a_key(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('[servers.groq]\ncredential = "keyring:groq"\n')
    environment = environment_of({})
    assert servers_with_key(load_settings(file, environment), environment) == ("groq",)


def test_a_servers_usual_dialect_holds_unless_the_entry_names_one(tmp_path: Path) -> None:
    """PRV-2."""
    assert chosen(tmp_path, FILE, "fast").model.dialect == "cerebras"
    assert chosen(tmp_path, FILE, "local").model.dialect == "compatible"
    text = FILE + 'dialect = "compatible"\n'
    assert chosen(tmp_path, text, "fast").model.dialect == "compatible"


def test_an_ollama_host_on_the_open_net_needs_the_persons_word(tmp_path: Path) -> None:
    """PRV-13."""
    with pytest.raises(ConfigError, match="insecure = true"):
        choose(tmp_path, "", "ollama/m", OLLAMA_HOST="http://ai.example.com")
    text = '[servers.ollama]\nbase_url = "http://ai.example.com"\ninsecure = true\n'
    assert chosen(tmp_path, text, "ollama/m").server.insecure


def test_a_key_for_ollama_is_used_only_if_there_is_one(tmp_path: Path) -> None:
    assert chosen(tmp_path, "", "ollama/m").server.credential == ""
    choice = chosen(tmp_path, "", "ollama/m", OLLAMA_API_KEY="k")
    assert choice.server.credential == "env:OLLAMA_API_KEY"


def test_anthropics_other_variable_counts(tmp_path: Path) -> None:
    environment = environment_of({"ANTHROPIC_AUTH_TOKEN": "k"})
    loaded = load_settings(tmp_path / "none", environment)
    assert servers_with_key(loaded, environment) == ("anthropic",)
