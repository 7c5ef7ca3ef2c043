"""The command line over the Responses protocol: a run, a process that goes on, the reports."""

import hashlib
import json
import subprocess
from pathlib import Path

from nodwyn_tui.domain.events import LlmRequest
from nodwyn_tui.store.log import Log
from tests.cli.test_run import NODWYN, configure, run
from tests.fakes.responses_events import Output, Reason, Said
from tests.fakes.responses_server import ResponsesServer
from tests.fakes.script import ScriptedCall

LOOK = Output(items=(Reason(("I look.",)), ScriptedCall("fs-list", "{}")))


def nodwyn(*options: str) -> str:
    root = Path(__file__).parents[2]
    return subprocess.run(
        [*NODWYN, *options], capture_output=True, text=True, timeout=60, check=True, cwd=root
    ).stdout


def test_a_run_goes_on_in_another_process_and_is_accounted_for(tmp_path: Path, home: Path) -> None:
    """PRV-5, ENG-26, ENG-28: from the log alone, with the figures that the server gave."""
    workspace = tmp_path / "ws"
    workspace.mkdir()
    done = Output(items=(Reason(("Empty.",)), Said("It is empty.", "final_answer")))
    with ResponsesServer([LOOK, done, LOOK, done]) as server:
        configure(home, server, keep_reasoning=True, context=60_000)
        first = run(workspace, "-p", "what is here?")
        second = run(workspace, "-p", "and now?", "--continue", "--format", "json")
    assert server.violations == []
    assert (first.returncode, first.stdout) == (0, "It is empty.\n")
    told = json.loads(second.stdout)
    assert (told["text"], told["requests"]) == ("It is empty.", 2)
    assert told["usage"]["cached_tokens"] == sum(cached for _, cached in server.reads[2:])
    sent = [request.body["input"] for request in server.bodies]
    assert [sum(i["type"] == "reasoning" for i in items) for items in sent] == [0, 1, 2, 3]
    (log,) = workspace.rglob("log.jsonl")
    report = json.loads(nodwyn("cache", str(log), "--json"))
    assert [row["cached_tokens"] for row in report["requests"]] == [c for _, c in server.reads]
    assert [row["prefix_ended_by"] for row in report["requests"]] == ["first", None, None, None]
    assert report["totals"]["cache_rate"] > 0.5
    for request in [event for event in Log.read(log).events if isinstance(event, LlmRequest)]:
        window = nodwyn("replay", str(log), "--window", str(request.seq))
        assert hashlib.sha256(window.removesuffix("\n").encode()).hexdigest() == request.digest
