"""A worker that is killed while it compacts: the session goes on in the old window or in the new
one (AGT-16, ENG-3).
"""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from nodwyn_tui.domain import events as ev
from tests.agent.rig import Rig, messages
from tests.agent.test_compaction import NOTE, asks_for_a_note, content, facts
from tests.fakes.chat_server import ChatServer
from tests.fakes.script import Item, Say, call, say


class Slow:
    """A model whose reply to the `stage`-th kind of request waits for `gate`."""

    def __init__(self, stage: str, gate: threading.Event) -> None:
        self.stage, self.gate = stage, gate
        self.step = 0
        self.compacted = False
        self.reached = threading.Event()

    def __call__(self, body: Mapping[str, Any]) -> Item:
        if asks_for_a_note(body):
            self.compacted = True
            return self.wait(NOTE) if self.stage == "asked" else say(NOTE)
        if self.compacted and self.stage == "opened":
            return self.wait("on")
        self.step += 1
        return call("fs-read", {"path": f"fact{self.step}.txt"})

    def wait(self, text: str) -> Say:
        self.reached.set()
        return Say(text, gate=self.gate)


@pytest.mark.skipif(not hasattr(os, "kill"), reason="needs signals")
@pytest.mark.parametrize("stage", ["asked", "opened"])
async def test_a_process_that_is_killed_goes_on_in_the_one_or_the_other(
    rig: Rig, home: Path, stage: str
) -> None:
    """By SIGKILL, while the note is written, and right after the new window was opened."""
    facts(rig)
    gate = threading.Event()
    model = Slow(stage, gate)
    with ChatServer([model], context=8_192, repeat=True) as server:
        rig.configure(server, strategy="compact")
        command = [sys.executable, "-P", "-m", "nodwyn_tui", "run", "-p", "read all"]
        process = subprocess.Popen(
            [*command, "--workspace", str(rig.workspace)],
            env={**os.environ, "NODWYN_HOME": str(home), "PYTHONPATH": str(Path.cwd())},
            stdout=subprocess.DEVNULL,
        )
        assert model.reached.wait(20)
        process.send_signal(signal.SIGKILL)
        process.wait(20)
        gate.set()
        old = messages(server)
        was_asked = asks_for_a_note({"messages": old})
        assert was_asked == (stage == "asked")
        count = len(server.bodies)
        server.script = [lambda body: say(NOTE if asks_for_a_note(body) else "here")]
        await rig.open(resume="last")
        assert (await rig.ask("go on")).text == "here"
        sent = messages(server, count)
        assert sent[: len(old) - was_asked] == old[: len(old) - was_asked]
        assert content(sent[len(old) - was_asked]).endswith("go on")
        # The old window is over its mark: a note is asked for again, behind what the person said.
        assert asks_for_a_note({"messages": sent}) == was_asked
        assert len(sent) == len(old) + 1
        assert server.violations == []
        assert len(rig.of(ev.ContextOpen)) == 1
