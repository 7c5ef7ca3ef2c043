"""ROL-13 with `nodwyn run` itself: a process is killed on its way out of a window, and another one
goes on.
"""

import json
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
from nodwyn_tui.store.log import Log
from tests.fakes.script import Item, Say
from tests.faults.rolling import AGAIN, LEFT, World, behind_the_last_reply
from tests.faults.test_rollover_faults import world


def nodwyn(here: World, *arguments: str) -> "subprocess.Popen[bytes]":
    """A process of its own, in the situation's workspace."""
    command = [sys.executable, "-P", "-m", "nodwyn_tui", "run", "--resume", "last"]
    where = ["--workspace", str(here.folder / "ws"), "--allow", "shell: *"]
    return subprocess.Popen(
        [*command, *where, *arguments],
        env={
            **os.environ,
            "NODWYN_HOME": str(here.folder / "home"),
            "PYTHONPATH": str(Path.cwd()),
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )


class Waits:
    """The situation's model; what it says first in a new window never comes to its end."""

    def __init__(self, here: World) -> None:
        self.here, self.reached, self.gate = here, threading.Event(), threading.Event()

    def __call__(self, body: Mapping[str, Any]) -> Item:
        said = behind_the_last_reply(body)
        if LEFT in said and AGAIN not in said:
            self.reached.set()
            return Say("one moment " * 4, gate=self.gate)
        return self.here.model(body)


@pytest.mark.skipif(not hasattr(os, "kill"), reason="needs signals")
@pytest.mark.parametrize("name", ["on send", "in mid-run", "refused on send"])
def test_killed_while_the_new_window_is_answered(tmp_path: Path, name: str) -> None:
    """ROL-1, ROL-13: what was asked and done stands in the log, and nothing is done again."""
    with world(tmp_path, name) as here:
        model = Waits(here)
        here.server.script = [model]
        process = nodwyn(here, "-p", here.situation.text)
        assert model.reached.wait(20)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        model.gate.set()
        marks = here.marks
        went_on = nodwyn(here, "-p", AGAIN, "--format", "json")
        report = json.loads(went_on.communicate(timeout=20)[0])
        assert (went_on.returncode, report["stop"], report["text"]) == (0, "done", "here")
        events = Log.read(here.log).events
        here.check(events)
        assert here.marks == marks
        said = [e.text for e in events if isinstance(e, ev.UserMessage)]
        assert here.situation.text in said
        assert said[-1] == AGAIN
        assert len([e for e in events if isinstance(e, ev.WindowReset)]) == 1
