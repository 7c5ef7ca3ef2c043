"""`nodwyn doctor`: what works here, and what nothing names any more (IMG-9)."""

import json
from pathlib import Path
from typing import Any

import pytest

from nodwyn_tui.cli.main import run_command_line
from nodwyn_tui.domain import events as ev
from nodwyn_tui.domain.canonical import sha256
from tests.fakes.ollama_server import OllamaServer


def findings(capfd: pytest.CaptureFixture[str], *arguments: str) -> dict[str, dict[str, Any]]:
    assert run_command_line(["doctor", "--json", *arguments]) == 0
    return {each["check"]: each for each in json.loads(capfd.readouterr().out)}


def test_a_new_machine_is_told_what_is_missing(
    home: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("PATH", "/nowhere")
    found = findings(capfd)
    assert {found[name]["state"] for name in ("git", "rg", "clipboard", "settings", "Ollama")} == {
        "missing"
    }
    assert "none yet" in found["settings"]["detail"]
    assert found["colours"]["detail"].endswith("NO_COLOR is set")
    assert found["pictures"]["state"] == "missing"
    assert "cannot connect" in found["Ollama"]["detail"]
    assert found["index"]["state"] == found["nodwyn"]["state"] == "ok"
    assert not [name for name in found if name.startswith("key ")]
    assert list(home.iterdir()) == []


def test_keys_are_named_by_their_place_and_never_shown(
    home: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """SEC-1."""
    monkeypatch.setenv("MINE", "a secret of mine")
    (home / "config.toml").write_text(
        '[servers.a]\nprovider = "openai"\nbase_url = "https://a.example/v1"\n'
        'credential = "env:MINE"\n'
        '[servers.b]\nprovider = "openai"\nbase_url = "https://b.example/v1"\n'
        'credential = "env:THEIRS"\n[models.m]\nserver = "none"\nmodel = "x"\n'
    )
    assert run_command_line(["doctor"]) == 0
    out = capfd.readouterr().out
    assert "secret of mine" not in out
    lines = {line.split()[1]: line for line in out.splitlines() if not line.startswith("✓ key")}
    assert "✓ key a" in out
    assert "✗ key b" in out
    assert "nodwyn auth set b" in out
    assert lines["settings"].startswith("✗")
    assert "nodwyn config check" in lines["settings"]


def test_ollama_says_what_it_has(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with OllamaServer() as server:
        monkeypatch.setenv("OLLAMA_HOST", server.base_url)
        found = findings(capfd)
    assert found["Ollama"]["state"] == "ok"
    assert "model" in found["Ollama"]["detail"]


def test_images_that_no_session_names_are_listed(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """IMG-9."""
    workspace = tmp_path / "ws"
    kept = workspace / ".nodwyn" / "attachments"
    kept.mkdir(parents=True)
    named, left = sha256(b"named"), sha256(b"left")
    for digest, data in ((named, b"named"), (left, b"left")):
        (kept / digest).write_bytes(data)
    log = workspace / ".nodwyn" / "sessions" / "s" / "log.jsonl"
    log.parent.mkdir(parents=True)
    log.write_text(json.dumps({"seq": 1, "type": ev.AttachImage.type, "sha256": named}) + "\n")
    (log.parent / "no-replay").touch()
    monkeypatch.chdir(workspace)
    assert run_command_line(["doctor"]) == 0
    out = capfd.readouterr().out
    assert left in out
    assert named not in out
    assert f"2 kept in {kept}" in out
