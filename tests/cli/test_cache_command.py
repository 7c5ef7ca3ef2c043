"""`nodwyn cache`: the recorded figures, unknown as unknown."""

import json
import subprocess
from pathlib import Path

from tests.cli.test_run import NODWYN, configure, run
from tests.fakes.chat_server import ChatServer
from tests.fakes.script import Say, call, say


def cache(*options: str) -> str:
    return subprocess.run(
        [*NODWYN, "cache", *options], capture_output=True, text=True, timeout=60, check=True,
        cwd=Path(__file__).parents[2],
    ).stdout  # fmt: skip


def recorded(tmp_path: Path, home: Path, last: Say) -> str:
    workspace = tmp_path / "ws"
    workspace.mkdir()
    with ChatServer([call("fs-list", {}), last]) as server:
        configure(home, server)
        run(workspace, "-p", "look")
    (log,) = workspace.rglob("log.jsonl")
    return str(log)


def test_json_has_the_published_fields_and_totals(tmp_path: Path, home: Path) -> None:
    """ENG-28, ENG-29."""
    value = json.loads(cache(recorded(tmp_path, home, say("ok")), "--json"))
    assert list(value) == ["session", "requests", "totals"]
    first, second = value["requests"]
    assert list(first) == [
        "seq", "model", "prompt_tokens", "predicted_cached", "cached_tokens", "prefix_ended_by",
        "cost_usd",
    ]  # fmt: skip
    assert (first["predicted_cached"], first["prefix_ended_by"]) == (None, "first")
    assert second["predicted_cached"] == first["prompt_tokens"]
    total = value["totals"]
    assert total["prompt_tokens"] == first["prompt_tokens"] + second["prompt_tokens"]
    assert total["cache_rate"] == total["cached_tokens"] / total["prompt_tokens"]
    assert total["cost_usd"] is None


def test_reply_without_usage_stays_out_of_the_rate(tmp_path: Path, home: Path) -> None:
    """ENG-29: unknown is shown as unknown."""
    log = recorded(tmp_path, home, say("ok", usage=False))
    value = json.loads(cache(log, "--json"))
    assert value["requests"][1]["prompt_tokens"] is None
    assert value["totals"]["cache_rate"] == 0.0
    table = cache(log)
    assert "?" in table
    assert "token cache rate 0.0%" in table
