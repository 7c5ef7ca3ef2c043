"""`nodwyn run`, as a real process: formats, exit codes, what goes where."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from PIL import Image

from nodwyn_tui.domain.events import SessionStart
from nodwyn_tui.store.log import Log
from tests.fakes.chat_server import ChatServer
from tests.fakes.images import images_in
from tests.fakes.script import call, error, say
from tests.fakes.server import FakeServer

NODWYN = [sys.executable, "-m", "nodwyn_tui"]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "ws"
    folder.mkdir()
    return folder


def configure(home: Path, server: FakeServer, **model: Any) -> None:
    """A model on the server; no fresh context is sent unless `fresh` says so."""
    value = {
        "model": "m",
        "servers": {"fake": {"provider": server.provider, "base_url": server.base_url}},
        "models": {"m": {"server": "fake", "model": "test-model", "fresh": "off", **model}},
    }
    (home / "config.toml").write_bytes(tomli_w.dumps(value).encode())


def run(workspace: Path, *options: str, **more: Any) -> subprocess.CompletedProcess[str]:
    command = [*NODWYN, "run", "--workspace", str(workspace), *options]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=60, check=False,
        cwd=Path(__file__).parents[2], **more,
    )  # fmt: skip


def test_text_is_the_reply_alone(workspace: Path, home: Path) -> None:
    """Standard output holds only what was asked for; progress goes to standard error."""
    with ChatServer([call("fs-list", {}), say("It is **empty**.")]) as server:
        configure(home, server)
        done = run(workspace, "-p", "what is here?")
    assert (done.returncode, done.stdout) == (0, "It is **empty**.\n")
    assert "✓ fs-list" in done.stderr


def test_json_is_one_object_with_the_published_fields(workspace: Path, home: Path) -> None:
    write = call("fs-write", {"path": "b/new.txt", "text": "x"})
    with ChatServer([write, say("done")]) as server:
        configure(home, server, price={"input": 1.0, "output": 2.0})
        done = run(workspace, "-p", "write it", "--format", "json", "--mode", "edits")
    value = json.loads(done.stdout)
    assert list(value) == [
        "session",
        "text",
        "stop",
        "requests",
        "usage",
        "changed_files",
        "errors",
    ]
    assert list(value["usage"]) == [
        "prompt_tokens", "cached_tokens", "cache_write_tokens", "output_tokens",
        "reasoning_tokens", "cost_usd",
    ]  # fmt: skip
    assert (value["text"], value["stop"], value["requests"]) == ("done", "done", 2)
    assert value["changed_files"] == ["b/new.txt"]
    assert value["errors"] == []
    assert value["usage"]["cost_usd"] > 0
    assert (workspace / ".nodwyn" / "sessions" / value["session"] / "log.jsonl").is_file()


def test_jsonl_prints_the_logs_events_as_they_are_on_the_disk(workspace: Path, home: Path) -> None:
    with ChatServer([call("fs-list", {}), say("done")]) as server:
        configure(home, server)
        done = run(workspace, "-p", "look", "--format", "jsonl")
    (log,) = workspace.rglob("log.jsonl")
    assert done.stdout.encode() == log.read_bytes()


def test_prompt_from_standard_input_and_a_session_gone_on_with(workspace: Path, home: Path) -> None:
    with ChatServer([say("one"), say("two")]) as server:
        configure(home, server)
        assert run(workspace, "-p", "-", input="first\n").stdout == "one\n"
        assert run(workspace, "-p", "second", "--continue").stdout == "two\n"
    assert len(list(workspace.rglob("log.jsonl"))) == 1
    assert len(server.bodies[1].body["messages"]) == 4


def test_call_that_needs_a_person_ends_blocked_and_names_the_pattern(
    workspace: Path, home: Path
) -> None:
    """Exit 5, and the named `--allow` passes it."""
    shell = call("shell", {"command": "echo one && ls"})
    with ChatServer([shell, shell, say("fine")]) as server:
        configure(home, server)
        blocked = run(workspace, "-p", "go", "--format", "json")
        value = json.loads(blocked.stdout)
        assert blocked.stderr.count("⊘") == 1
        assert (blocked.returncode, value["stop"]) == (5, "blocked")
        message = value["errors"][0]["message"]
        pattern = shlex.split(message[message.index("--allow") :])[1]
        assert run(workspace, "-p", "go", "--allow", pattern).stdout == "fine\n"
    assert server.violations == []


def test_yes_alone_is_refused_without_a_sandbox(workspace: Path, home: Path) -> None:
    with ChatServer([call("shell", {"command": "echo hi > made"}), say("fine")]) as server:
        configure(home, server)
        refused = run(workspace, "-p", "go", "--yes", "--format", "json")
        assert refused.returncode == 2
        assert "--no-sandbox" in json.loads(refused.stdout)["errors"][0]["message"]
        assert server.bodies == []
        assert run(workspace, "-p", "go", "--yes", "--no-sandbox").returncode == 0
    assert (workspace / "made").exists()


@pytest.mark.parametrize(
    ("script", "code", "kind"),
    [
        ([error(401, {"error": {"message": "bad key"}})], 4, "authentication"),
        ([error(500, "boom")], 4, "server_error"),
        ([call("fs-list", {})] * 3, 1, "limit"),
    ],
    ids=["refused", "failed", "limit"],
)
def test_exit_codes(workspace: Path, home: Path, script: list[Any], code: int, kind: str) -> None:
    with ChatServer(script) as server:
        configure(home, server)
        done = run(workspace, "-p", "go", "--format", "json", "--max-steps", "2")
    assert done.returncode == code
    assert json.loads(done.stdout)["errors"][0]["kind"] == kind


def test_config_with_an_error_names_its_line(workspace: Path, home: Path) -> None:
    """Bad input: exit 2, file, line, key, what was found and what is allowed."""
    lines = ["# a comment"] * 10 + ["[window]", 'high_water = "large"', "low_water = -1"]
    (home / "config.toml").write_text("\n".join(lines) + "\n")
    done = run(workspace, "-p", "go", "--format", "json")
    assert done.returncode == 2
    high, low = json.loads(done.stdout)["errors"]
    assert (high["kind"], low["kind"]) == ("config", "config")
    for word in ("config.toml:12", "window.high_water", "large"):
        assert word in high["message"]
    assert "config.toml:13" in low["message"]


def test_setting_without_effect_is_warned_of(workspace: Path, home: Path) -> None:
    """A mistyped key looks like a setting that does nothing."""
    with ChatServer([say("hi")]) as server:
        configure(home, server)
        config = home / "config.toml"
        config.write_text('modle = "x"\n' + config.read_text())
        done = run(workspace, "-p", "go")
    assert done.stdout == "hi\n"
    assert "modle: is not known" in done.stderr


def test_the_strategy_of_the_command_line_goes_before_the_settings(
    workspace: Path, home: Path
) -> None:
    """It is recorded with the session's rules; what there is not is refused by name."""
    with ChatServer([say("ok")]) as server:
        configure(home, server)
        run(workspace, "-p", "x", "--strategy", "compact")
    (log,) = workspace.rglob("log.jsonl")
    (start, *_) = Log.read(log).events
    assert isinstance(start, SessionStart)
    assert start.recipe.strategy == "compact"
    refused = run(workspace, "-p", "x", "--strategy", "forget")
    assert refused.returncode == 2
    assert "invalid choice: 'forget'" in refused.stderr


def test_no_model_says_what_to_do(workspace: Path, home: Path) -> None:
    done = run(workspace, "-p", "go")
    assert done.returncode == 2
    assert done.stderr.startswith("nodwyn: no model is set up yet\n")
    assert "OPENROUTER_API_KEY" in done.stderr


def test_model_from_environment_keys_alone(
    workspace: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--model SERVER/ID` with a key in the usual variable; a server of the file by its name."""
    with ChatServer([say("hi")], key="sesame") as server:
        monkeypatch.setenv("OPENROUTER_API_KEY", "sesame")
        provider = {"provider": "openai", "base_url": server.base_url}
        provider["credential"] = "env:OPENROUTER_API_KEY"
        settings = {"servers": {"openrouter": provider}}
        (home / "config.toml").write_bytes(tomli_w.dumps(settings).encode())
        done = run(workspace, "-p", "go", "--model", "openrouter/test-model")
    assert done.stdout == "hi\n"


def test_sigint_stops_in_order(workspace: Path, home: Path) -> None:
    """Exit 130, every call answered, the children gone."""
    with ChatServer([call("shell", {"command": "touch began; sleep 60"})]) as server:
        configure(home, server)
        command = [*NODWYN, "run", "--workspace", str(workspace), "-p", "go", "--allow", "*",
                   "--format", "json"]  # fmt: skip
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]
        )
        ends = time.monotonic() + 30
        while not (workspace / "began").exists() and time.monotonic() < ends:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=30)
    assert process.returncode == 130
    assert json.loads(out)["stop"] == "interrupted"
    (log,) = workspace.rglob("log.jsonl")
    kinds = [event.type for event in Log.read(log).events]
    assert kinds[-3:] == ["tool.result", "run.end", "session.end"]


def test_full_disk_is_told_and_nothing_is_sent(tmp_path: Path, home: Path) -> None:
    """ENG-3: a request that cannot be recorded is not sent."""
    small = tmp_path / "small"
    small.mkdir()
    if os.geteuid() != 0 or subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(small)], capture_output=True,
        check=False,
    ).returncode:  # fmt: skip
        pytest.skip("needs a small tmpfs, which only root can mount")
    try:
        (small / "fill").write_bytes(b"x" * 44_000)
        with ChatServer([say("never")]) as server:
            configure(home, server)
            done = run(small, "-p", "word " * 6_000, "--format", "json")
        assert done.returncode == 1
        message = json.loads(done.stdout)["errors"][-1]["message"]
        assert "space" in message
        assert server.bodies == []
    finally:
        subprocess.run(["umount", str(small)], check=True)


def test_read_only_workspace_keeps_its_session_in_the_state_folder(
    workspace: Path, home: Path
) -> None:
    """ENG-1."""
    with ChatServer([say("hi")]) as server:
        configure(home, server)
        # Root writes anywhere, so a file in the folder's place stands for one that can't be made.
        (workspace / ".nodwyn").write_text("")
        assert run(workspace, "-p", "go").stdout == "hi\n"
        assert len(list((home / "state" / "sessions").rglob("log.jsonl"))) == 1
        assert run(workspace, "-p", "again", "--continue").returncode == 4


def test_unknown_command_is_said_to_be_one() -> None:
    done = subprocess.run(
        [*NODWYN, "modles", "list"], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, "no such command" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["-p", " "], "prompt is empty"),
        (["-p", "x", "--workspace", "/nowhere"], "no such folder"),
        (["-p", "x", "--continue", "--resume", "1"], "exclude each other"),
        (["-p", "x", "--config", "/nowhere.toml"], "/nowhere.toml"),
        (["-p", "x", "--resume", "2099"], "no session '2099'"),
        (["-p", "x", "--resume", "x" * 5_000], "xxx…'"),
        (["-p", "x", "--model", "nope"], "nope"),
        (["-p", "x", "--allow", "ls"], "TOOL: GLOB"),
        (["-p", "x", "--max-cost", "much"], "a number above 0"),
    ],
)
def test_usage_errors_exit_2(workspace: Path, home: Path, options: list[str], words: str) -> None:
    done = run(workspace, *options)
    assert done.returncode == 2
    assert words in done.stderr


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_ended_by_the_system_leaves_nothing_running(workspace: Path, home: Path, name: str) -> None:
    """AGT-3: the terminal closed, the machine goes down: as orderly as Esc."""
    with ChatServer([call("shell", {"command": "sleep 97531"})]) as server:
        configure(home, server)
        command = [*NODWYN, "run", "--workspace", str(workspace), "-p", "go", "--allow", "*"]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=Path(__file__).parents[2]
        )
        ends = time.monotonic() + 30
        while not subprocess.run(["pgrep", "-f", "sleep 97531"], capture_output=True,
                                 check=False).stdout:  # fmt: skip
            assert time.monotonic() < ends
            time.sleep(0.05)
        process.send_signal(getattr(signal, name))
        process.communicate(timeout=30)
    assert process.returncode == 130
    assert not subprocess.run(["pgrep", "-f", "^sleep 97531"], capture_output=True,
                              check=False).stdout  # fmt: skip
    (log,) = workspace.rglob("log.jsonl")
    assert [event.type for event in Log.read(log).events][-1] == "session.end"


def test_images_go_with_the_request(workspace: Path, home: Path) -> None:
    """IMG-1: `--image`, repeatable, from where the command was given or as a `file://` address;
    what was done is said.
    """
    paths = [workspace / "a b.png", workspace / "it's.png"]
    for number, path in enumerate(paths):
        Image.new("RGB", (2_400, 10 + number)).save(path)
    with ChatServer([say("two shots")]) as server:
        configure(home, server)
        options = ["--image", "a b.png", "--image", paths[1].as_uri()]
        done = subprocess.run(
            [*NODWYN, "run", "-p", "look", *options],
            cwd=workspace,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
        assert done.stdout == "two shots\n", done.stderr
        assert len(list(images_in(server.bodies[0].body))) == 2
    assert server.violations == []
    assert "a b.png: scaled down from 2400" in done.stderr


def test_a_bad_image_ends_the_run_before_it_begins(workspace: Path, home: Path) -> None:
    """IMG-1: exit code 2, the file named, and nothing sent."""
    bad = workspace / "bad.png"
    bad.write_text("no image")
    with ChatServer([say("never")]) as server:
        configure(home, server)
        for name, words in (("bad.png", "bad.png is no image"), ("none.png", "there is no file")):
            done = run(
                workspace, "-p", "look", "--image", str(workspace / name), "--format", "json"
            )
            assert done.returncode == 2, done.stderr
            (error,) = json.loads(done.stdout)["errors"]
            assert error["kind"] == "usage"
            assert words in error["message"]
            assert name in error["message"]
    assert server.bodies == []
