"""`nodwyn cache`: the recorded figures, unknown as unknown."""

import json
import subprocess
from pathlib import Path

import pytest

from nodwyn_tui.cli.cache import Row, missed, totals
from nodwyn_tui.store.lines import encode
from nodwyn_tui.window import handover
from tests.builders import LogBuilder
from tests.cli.test_run import NODWYN, configure, run
from tests.fakes.anthropic_server import AnthropicServer, Thought, turn
from tests.fakes.chat_server import ChatServer
from tests.fakes.script import Say, ScriptedCall, call, say


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
        "cost_usd", "purpose", "warm",
    ]  # fmt: skip
    assert (first["predicted_cached"], first["prefix_ended_by"]) == (None, "first")
    assert second["predicted_cached"] == first["prompt_tokens"]
    total = value["totals"]
    assert total["prompt_tokens"] == first["prompt_tokens"] + second["prompt_tokens"]
    assert total["cache_rate"] == total["cached_tokens"] / total["prompt_tokens"]
    assert total["cost_usd"] is None


def test_a_session_over_anthropics_protocol(tmp_path: Path, home: Path) -> None:
    """PRV-10, ENG-28: a whole run, its figures and its price, as processes of their own."""
    workspace = tmp_path / "ws"
    workspace.mkdir()
    price = {"input": 2.0, "cached": 0.2, "write": 2.5, "output": 10.0}
    with AnthropicServer([turn(Thought("hm"), ScriptedCall("fs-list", "{}")), say("ok")]) as server:
        configure(home, server, cache_control="ephemeral", price=price)
        done = run(workspace, "-p", "look", "--format", "json")
    assert server.violations == []
    assert done.returncode == 0
    (log,) = workspace.rglob("log.jsonl")
    first, second = json.loads(cache(str(log), "--json"))["requests"]
    assert second["cached_tokens"] == second["predicted_cached"] == first["prompt_tokens"]
    usage = json.loads(done.stdout)["usage"]
    assert usage["cache_write_tokens"] == second["prompt_tokens"], "all of it was written once"
    assert usage["cost_usd"] == pytest.approx(first["cost_usd"] + second["cost_usd"])


def test_reply_without_usage_stays_out_of_the_rate(tmp_path: Path, home: Path) -> None:
    """ENG-29: unknown is shown as unknown."""
    log = recorded(tmp_path, home, say("ok", usage=False))
    value = json.loads(cache(log, "--json"))
    assert value["requests"][1]["prompt_tokens"] is None
    assert value["totals"]["cache_rate"] == 0.0
    table = cache(log)
    assert "?" in table
    prompt = value["totals"]["prompt_tokens"]
    assert f"token cache rate 0.0% (0 of {prompt:,} prompt tokens)" in table
    assert "cost unknown" in table


def row(**fields: object) -> Row:
    unknown = dict.fromkeys(
        ("prompt_tokens", "predicted_cached", "cached_tokens", "prefix_ended_by", "cost_usd")
    )
    return Row(seq=1, model="m", **(unknown | fields))


@pytest.mark.parametrize(
    ("rows", "rate"),
    [
        ([], None),
        ([row(prompt_tokens=100)], None),
        ([row(cached_tokens=0)], None),
        ([row(prompt_tokens=0, cached_tokens=0)], None),
        ([row(prompt_tokens=100, cached_tokens=0)], 0.0),
        ([row(prompt_tokens=100, cached_tokens=50), row(prompt_tokens=900)], 0.5),
        (
            [row(prompt_tokens=100, cached_tokens=50), row(prompt_tokens=300, cached_tokens=0)],
            0.125,
        ),
    ],
    ids=["none", "no cached", "no prompt", "empty prompt", "zero", "one unknown", "a zero counts"],
)
def test_rate_counts_replies_that_report_both(rows: list[Row], rate: float | None) -> None:
    """ENG-29: a reported zero counts as 0 %; with no such reply the rate is unknown."""
    assert totals(rows)["cache_rate"] == rate


@pytest.mark.parametrize(
    ("fields", "its_own"),
    [
        ({"predicted_cached": 5_000, "cached_tokens": 0}, True),
        ({"predicted_cached": 5_000, "cached_tokens": 4_900}, False),
        ({"predicted_cached": 5_000, "cached_tokens": 0, "prefix_ended_by": "trim"}, False),
        ({"predicted_cached": 5_000, "cached_tokens": 0, "prefix_ended_by": "fresh_rows"}, True),
        (
            {"predicted_cached": 5_000, "cached_tokens": 4_900, "prefix_ended_by": "fresh_rows"},
            False,
        ),
        ({"predicted_cached": 5_000}, False),
        ({"predicted_cached": 0, "cached_tokens": 0}, False),
        ({"cached_tokens": 0}, False),
    ],
)
def test_miss_with_an_identical_prefix_is_the_servers(
    fields: dict[str, object], its_own: bool
) -> None:
    """ENG-28."""
    assert missed(row(**fields)) is its_own


def test_table_has_the_words(tmp_path: Path, home: Path) -> None:
    """ENG-28: what ended each prefix, and a miss that nothing of ours caused."""
    workspace = tmp_path / "ws"
    workspace.mkdir()
    with ChatServer([call("fs-list", {}), say("one"), say("two")], cache="off") as server:
        configure(home, server)
        run(workspace, "-p", "look")
        configure(home, server, effort="low")
        run(workspace, "-p", "again", "--continue")
    (log,) = workspace.rglob("log.jsonl")
    heading, *lines = cache(str(log)).splitlines()
    assert heading.split()[-5:] == ["prefix", "ended", "by", "cost", "$"]
    ends = [line.split("%")[-1].strip().rpartition("  ")[0].strip() for line in lines[:3]]
    assert ends == ["first", "- server's miss", "parameter_switch"]


def test_a_request_for_a_handover_note_is_named(tmp_path: Path) -> None:
    """AGT-16: what it cost counts like any other."""
    log = LogBuilder()
    log.user()
    log.request()
    log.reply("ok")
    log.add(handover.request(log.recipe, log.carrying.now))
    log.request(purpose="handover")
    log.reply("the note")
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"".join(map(encode, log.events)))
    value = json.loads(cache(str(path), "--json"))
    assert [row["purpose"] for row in value["requests"]] == ["turn", "handover"]
    assert [row.split()[:2] for row in cache(str(path)).splitlines()[1:3]] == [
        ["3", "turn"],
        ["6", "handover"],
    ]


def test_a_prompt_that_no_cache_keeps_is_no_miss_of_the_servers(tmp_path: Path, home: Path) -> None:
    """ENG-28, PRV-11: where the least size is known; above it a miss is the server's own."""
    workspace = tmp_path / "ws"
    workspace.mkdir()
    steps = [call("fs-list", {}), call("fs-list", {}), say("ok")]
    with AnthropicServer(steps, minimum=99_000) as server:
        configure(home, server, cache_control="ephemeral")
        run(workspace, "-p", "look")
    (log,) = workspace.rglob("log.jsonl")
    assert cache(str(log)).count("- server's miss") == 2
    prompt = json.loads(cache(str(log), "--json"))["requests"][0]["prompt_tokens"]
    record = {"host": "127.0.0.1", "id": "*", "source": "x", "date": "2026-11-29"}
    (home / "state").mkdir(exist_ok=True)
    models = {"models": [{**record, "cache_min": prompt + 1}]}
    (home / "state" / "models.json").write_text(json.dumps(models))
    table = cache(str(log))
    assert [table.count(word) for word in ("- below the minimum", "- server's miss")] == [1, 1]
