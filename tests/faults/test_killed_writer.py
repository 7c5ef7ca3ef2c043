"""REL-1: the writer of a log is killed at random moments, again and again, by SIGKILL."""

import os
import random
import signal
import time
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

from nodwyn_tui.domain import events as ev
from nodwyn_tui.store.lines import encode
from nodwyn_tui.store.log import Log
from nodwyn_tui.window.build import build
from tests.fakes.sessions import called_reply, new_log, open_log, turn

ROUNDS = 30

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def fingerprint(event: ev.Event) -> str:
    return f"{event.seq} {sha256(encode(event)).hexdigest()}"


def write_on(workspace: Path, acknowledge: int) -> None:
    """Opens the session and appends without end; tells each event once its append returned."""
    log, _, _ = open_log(workspace)
    number = 0
    while True:
        number += 1
        drafts = {
            0: (turn(0),),
            1: called_reply(random.randrange(1, 5)),
            2: (ev.ToolResult(call_id="c0", name="shell", text="é" * random.randrange(100_000)),),
        }.get(random.randrange(9), (ev.Note(text=f"note {number}"),))
        events = log.append(*drafts, must=bool(number % 2))
        os.write(acknowledge, "".join(f"{fingerprint(event)}\n" for event in events).encode())


def killed_round(in_child: Callable[[Callable[[], None]], int], workspace: Path) -> list[str]:
    """One writer's life; what it acknowledged."""
    told, acknowledge = os.pipe()
    child = in_child(lambda: write_on(workspace, acknowledge))
    os.close(acknowledge)
    with os.fdopen(told, "rb") as pipe:
        first = pipe.readline()  # it is at work
        time.sleep(random.uniform(0, 0.03))
        os.kill(child, signal.SIGKILL)
        acknowledged = (first + pipe.read()).decode().split("\n")
    os.waitpid(child, 0)
    return acknowledged[:-1]  # a line that was cut is no acknowledgement


def test_every_acknowledged_event_outlives_the_writer(
    tmp_path: Path, in_child: Callable[[Callable[[], None]], int]
) -> None:
    """The log opens each time, and the next request replays (by the fixture of every test)."""
    with new_log(tmp_path) as log:
        log.append(ev.UserMessage(text="go"))
    acknowledged: set[str] = set()
    for _ in range(ROUNDS):
        acknowledged |= set(killed_round(in_child, tmp_path))
        contents = Log.read(log.path)
        there = {fingerprint(event) for event in contents.events}
        assert acknowledged <= there
        assert len(contents.damage.chunks) <= 6  # one torn append: its whole lines and its cut one
    assert len(acknowledged) > 10 * ROUNDS
    last, _, events = open_log(tmp_path)
    with last:
        seqs = [event.seq for event in events]
        lost = {s for e in events if isinstance(e, ev.SessionRecovered) for s in e.missing}
        assert seqs == sorted(set(seqs))
        assert set(seqs) | lost == set(range(1, last.next_seq))
        start = next(event for event in events if isinstance(event, ev.SessionStart))
        window = build(events, start.recipe)
        last.append(
            ev.LlmRequest(
                model=ev.ModelRef(name="m", server="s", provider="ollama", id="m", origin="s/m"),
                parameters=ev.Parameters(num_ctx=4096),
                digest=window.digest,
                estimate=window.estimate,
                elided=window.newly,
            )
        )
