"""PERF-5: a task of several windows, under each strategy. bench_windows.py measures a long one."""

import asyncio
from pathlib import Path

import pytest

from nodwyn_tui.domain import events as ev
from nodwyn_tui.domain.words import STRATEGIES, Strategy
from tests.agent.rig import Rig
from tests.fakes.chat_server import ChatServer
from tests.fakes.recall import MOST_CALLS, found_again
from tests.fakes.stocktaking import STOCK, Model, Task

CONTEXT = 16_384
REPLY = CONTEXT // 4
TASK = Task(registers=14, runs=3, size=3_600, log=6_000)


@pytest.mark.parametrize("strategy", STRATEGIES)
async def test_a_task_of_several_windows_is_done(rig: Rig, strategy: Strategy) -> None:
    """PERF-5, ROL-11: no request is over the limit, and all that has left is found again: by a
    model that knows what its window shows and nothing else, and afterwards within three calls.
    """
    model = Model()
    TASK.write(rig.workspace)
    with ChatServer([model], repeat=True, context=CONTEXT - REPLY) as server:
        rig.configure(server, strategy=strategy, context=CONTEXT, fresh="auto")
        await rig.open(mode="edits", allow=("shell: *",))
        for text in TASK.asks:
            assert (await rig.ask(text)).why == "done"
        await rig.close()
    assert server.violations == []
    assert len(server.reads) == len(server.bodies), "each request had room"
    assert (rig.workspace / STOCK).read_text() == TASK.stock
    assert model.looked_up > 0
    trims = [request for request in rig.of(ev.LlmRequest) if request.elided]
    left = {"trim": trims, "compact": rig.of(ev.ContextOpen), "rollover": rig.of(ev.WindowReset)}
    assert len(left.pop(strategy)) > 2
    assert not any(left.values()), "each in its own way"
    assert rig.opened is not None
    folder = Path(rig.opened.log_path).parent
    calls, largest = await asyncio.to_thread(found_again, folder, TASK.planted)
    assert sum(calls.values()) == len(TASK.planted)
    assert set(calls) <= set(range(1, MOST_CALLS + 1))
    assert largest <= 16 << 10
