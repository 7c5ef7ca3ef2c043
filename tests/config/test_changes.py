"""Several changes at once: all or none, with what follows from them."""

import multiprocessing
import tomllib
from pathlib import Path

import pytest

from nodwyn_tui.config.changes import MISSING, Change, change, overtaken, with_consequences
from nodwyn_tui.config.saving import save_changes
from nodwyn_tui.errors import ConfigError

FILE = """\
model = "a"
fallback = "b"

[models.a]
server = "ollama"
model = "m"
price = { input = 1.0, output = 2.0 }  # mine

[servers.x]
credential = "env:X"
"""
VALUES = tomllib.loads(FILE)


def made(*changes: Change) -> dict[str, object]:
    values = tomllib.loads(FILE)
    for each in with_consequences(VALUES, changes, {}):
        change(values, each)
    return values


def test_what_named_a_model_goes_with_it() -> None:
    """TUI-5; unless it names another one by now."""
    assert "model" not in made(Change(("models", "a"), None))
    kept = made(Change(("models", "a"), None), Change(("model",), "b"))
    assert kept["model"] == "b"
    assert kept["fallback"] == "b"


def test_a_table_goes_with_its_last_key() -> None:
    models = made(
        Change(("models", "a", "price", "input"), None),
        Change(("models", "a", "price", "output"), None),
    )["models"]
    assert models == {"a": {"server": "ollama", "model": "m"}}
    assert made(Change(("servers", "x", "credential"), None))["servers"] == {}
    one = made(Change(("models", "a", "price", "input"), None))["models"]
    assert one == {"a": {"server": "ollama", "model": "m", "price": {"output": 2.0}}}


def test_only_what_an_editor_set_otherwise_is_overtaken() -> None:
    wanted = [Change(("model",), "c"), Change(("fallback",), None), Change(("mode",), "plan")]
    now = VALUES | {"model": "z", "mode": "plan"}
    assert overtaken(VALUES, now, wanted) == {("model",): "z"}
    gone = {"fallback": "b"}
    assert overtaken(VALUES, gone, wanted) == {("model",): MISSING}
    assert overtaken(None, VALUES, wanted) == {("model",): "a", ("fallback",): "b"}


def test_all_or_none(tmp_path: Path) -> None:
    """What one change cannot do leaves the file as it was."""
    file = tmp_path / "config.toml"
    file.write_text(FILE)
    wanted = [Change(("mode",), "plan"), Change(("model", "x"), 1)]
    with pytest.raises(ConfigError, match="model: something else"):
        save_changes(file, lambda _: wanted)
    assert file.read_text() == FILE
    text = save_changes(file, lambda _: wanted[:1])
    assert text == file.read_text()
    assert tomllib.loads(text) == {**VALUES, "mode": "plan"}


def test_keys_follow_a_price_in_its_entry(tmp_path: Path) -> None:
    """A price is written in its entry's own line, where other keys can still come after."""
    file = tmp_path / "config.toml"
    for path, value in (
        (("models", "n", "server"), "ollama"),
        (("models", "n", "price", "input"), 1.5),
        (("models", "n", "model"), "m"),
        (("servers", "s", "timeouts", "idle"), 5),
        (("servers", "s", "auth"), "bearer"),
        (("mode",), "plan"),
    ):
        save_changes(file, lambda _, path=path, value=value: [Change(path, value)])  # type: ignore[misc]
    assert tomllib.loads(file.read_text()) == {
        "mode": "plan",
        "models": {"n": {"server": "ollama", "price": {"input": 1.5}, "model": "m"}},
        "servers": {"s": {"timeouts": {"idle": 5}, "auth": "bearer"}},
    }


def _write_twenty(file: Path, name: str) -> None:
    for number in range(20):
        entry = [Change(("models", f"{name} {number}", "server"), "ollama")]
        save_changes(file, lambda _, entry=entry: entry)  # type: ignore[misc]


def test_two_processes_save_at_once_and_lose_nothing(tmp_path: Path) -> None:
    """TUI-5: each sees what the other wrote."""
    file = tmp_path / "config.toml"
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_write_twenty, args=(file, name)) for name in ("a", "b")]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
        assert writer.exitcode == 0
    assert len(tomllib.loads(file.read_text())["models"]) == 40
