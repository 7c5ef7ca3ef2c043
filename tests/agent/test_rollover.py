"""Rollover in whole sessions: warned, notes written, the window left, an old fact found again, and
nothing lost on the way (ROL-1 to ROL-8).
"""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from nodwyn_tui.domain import events as ev
from tests.agent.rig import Rig
from tests.fakes.chat_server import ChatServer
from tests.fakes.script import Item, call, say

NOTES = "- the task: read every file; next is the one after the last"


def content(message: Mapping[str, Any]) -> str:
    return str(message.get("content") or "")


class Worker:
    """A model that reads file after file, writes notes where it is warned, and at its last steps
    looks a fact of the first file up.
    """

    def __init__(self, rig: Rig, steps: int, size: int = 3_000) -> None:
        self.rig, self.steps, self.size = rig, steps, size
        self.step = self.warned = 0
        self.found = ""

    def __call__(self, body: Mapping[str, Any]) -> Item:
        last = body["messages"][-1]
        if "write what is worth keeping" in content(last):
            self.warned += 1
            arguments = {"action": "write", "file": "context-notes", "text": NOTES}
            return call("memory", arguments)
        self.step += 1
        if self.step <= self.steps:
            path = self.rig.workspace / f"f{self.step}.txt"
            path.write_text(f"the code of {self.step} is {self.step * 7919}\n" + "x" * self.size)
            return call("fs-read", {"path": path.name})
        if self.step == self.steps + 1:
            return call("session_history", {"action": "search", "query": "the code of 1 is"})
        results = [content(each) for each in body["messages"] if each["role"] == "tool"]
        self.found = next((text for text in results if "7919" in text), "")
        return say("done")


@pytest.mark.parametrize("context", [8_192, 16_384])
async def test_small_window_is_warned_of_and_left_again_and_again(rig: Rig, context: int) -> None:
    """ROL-1 to ROL-5: warning, notes, rollover, and an old fact found again."""
    model = Worker(rig, steps=40)
    with ChatServer([model], repeat=True, context=context) as server:
        rig.configure(server, strategy="rollover")
        await rig.open()
        ended = await rig.ask("read every file")
    assert (ended.why, ended.text) == ("done", "done")
    assert server.violations == []
    resets = rig.of(ev.WindowReset)
    assert len(resets) > 2
    assert all(reset.kind == "rollover" and reset.reason == "mid-run" for reset in resets)
    assert len({reset.rollover_id for reset in resets}) == len(resets)
    assert model.warned == len(rig.of(ev.BudgetWarning)) >= len(resets) - 1
    assert sum(reset.flush_opportunity for reset in resets) >= len(resets) - 1
    assert model.found, "the fact of the first file was looked up"
    ceiling = resets[0].max_tokens or 0
    assert all(request.estimate <= ceiling for request in rig.of(ev.LlmRequest))
    assert not any(request.elided for request in rig.of(ev.LlmRequest))
    reads = json.dumps([e.arguments for e in rig.of(ev.ToolCall) if e.name == "fs-read"])
    assert all(reads.count(f"f{n}.txt") == 1 for n in range(1, 41)), "no call ran twice"
