"""The main job against a real model server, where one is given (`NODWYN_TEST_SERVER`).

Asserts on the transport (streams, calls, cached counts, replays), never on the model's wit.
"""

import json
import os
import sys
import urllib.request

import pytest
import tomli_w

from nodwyn_tui.domain import events as ev
from nodwyn_tui.window.replay import replay
from tests.agent import rig as rigs
from tests.agent.rig import Rig

SERVER = os.environ.get("NODWYN_TEST_SERVER", "")

pytestmark = [
    pytest.mark.real_server,
    pytest.mark.skipif(not SERVER, reason="NODWYN_TEST_SERVER names no model server"),
]

ASKED = 12
TRIES = 20
WORDS = "Read the file foo.txt with the tool."
SLACK = 48
"""Tokens by which a real count may miss the prediction: the reply's own tokens join the prompt, and
a template may spell the end of a message anew."""


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rigs, "PATIENCE_S", 900.0)


def configure(rig: Rig, provider: str) -> None:
    with urllib.request.urlopen(f"{SERVER}/models", timeout=30) as answer:
        model = json.load(answer)["data"][0]["id"]
    value = {
        "model": "m",
        "window": {"task_header": ""},  # a small model takes the plain words for a call more often
        "servers": {"real": {"provider": provider, "base_url": SERVER}},
        "models": {"m": {"server": "real", "model": model, "max_output": 120}},
    }
    (rig.home / "config.toml").write_bytes(tomli_w.dumps(value).encode())


async def until_it_calls(rig: Rig) -> None:
    """Opens sessions until one begins with a call: a small model repeats what it did first."""
    for _ in range(TRIES):
        await rig.open(max_steps=3)
        await rig.ask(WORDS)
        if rig.of(ev.ToolCall):
            return
        await rig.close()
    pytest.skip(f"the model called no tool in {TRIES} tries")


@pytest.mark.parametrize("provider", ["openai", "responses"])
async def test_session_with_calls_replays_and_reads_its_cache(
    rig: Rig, capsys: pytest.CaptureFixture[str], provider: str
) -> None:
    """PERF-5, ENG-26, ENG-28: twelve messages, a resume in the middle, the server's own counts."""
    (rig.workspace / "foo.txt").write_text("alpha\nbeta\n")
    configure(rig, provider)
    await until_it_calls(rig)
    for number in range(ASKED):
        if number == ASKED // 2:
            await rig.close()
            await rig.open(resume="last", max_steps=3)
        await rig.ask(WORDS)
    events = rig.log()
    requests = [event for event in events if isinstance(event, ev.LlmRequest)]
    replies = {event.req: event for event in events if isinstance(event, ev.LlmResponse)}
    calls = [event for event in events if isinstance(event, ev.ToolCall)]
    rows = []
    for request in requests:
        assert replay(events, request.seq).digest == request.digest
        usage = replies[request.seq].usage
        rows.append((request.seq, usage.prompt_tokens, request.predicted_cached,
                     usage.cached_tokens, request.prefix_ended_by))  # fmt: skip
    head = [f"{len(requests)} requests, {len(calls)} calls; all replayed",
            "seq  prompt  predicted  cached  ended by"]  # fmt: skip
    table = "\n".join([*head, *("  ".join(map(str, row)) for row in rows)])
    with capsys.disabled():
        sys.stdout.write(f"\n{table}\n")
    assert len(requests) >= 10
    assert calls
    for _, prompt, predicted, cached, ended in rows[1:]:
        assert ended is None
        assert prompt is not None
        assert predicted is not None
        assert cached is not None
        assert cached >= predicted - SLACK
