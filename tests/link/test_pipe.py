"""The link over pipes, with real child processes."""

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from nodwyn_tui.link import commands, events
from nodwyn_tui.link.pipe import PipeFront
from nodwyn_tui.link.spawn import spawn as spawn_worker

PREAMBLE = """
import asyncio, os, sys
from nodwyn_tui.link import commands, events
from nodwyn_tui.link.pipe import serve
"""


def spawn(work: str, log: Path | None = None) -> PipeFront:
    """A worker whose coroutine `work(back)` has this body."""
    body = textwrap.indent(textwrap.dedent(work), "    ")
    program = f"{PREAMBLE}\nasync def work(back):\n{body}\nserve(work)\n"
    return PipeFront(spawn_worker([sys.executable, "-c", program], log=log))


ECHO = """
while (command := await back.receive()) is not None:
    if isinstance(command, commands.Close):
        back.emit(events.Closed(session="s"))
        return
    back.emit(events.Notice(level="info", text=command.text))
"""


async def told(front: PipeFront) -> list[events.UpEvent]:
    return [event async for event in front.events()]


async def test_commands_go_down_and_events_come_up() -> None:
    front = spawn(ECHO)
    front.send(commands.Send(text="[b] \ud83d \x1b[2J 中\n"))
    front.send(commands.Close())
    assert await told(front) == [
        events.Notice(level="info", text="[b] \ud83d \x1b[2J 中\n"),
        events.Closed(session="s"),
    ]
    await front.close()
    assert front.process.returncode == 0


def test_front_sends_before_a_loop_runs_more_than_the_pipe_holds() -> None:
    """PERF-1: the worker is started and told what to open before asyncio runs."""
    front = spawn(ECHO)
    text = "x" * 3_000_000
    front.send(commands.Send(text=text))
    front.send(commands.Close())

    async def run() -> list[events.UpEvent]:
        try:
            return await told(front)
        finally:
            await front.close()

    assert asyncio.run(run())[0] == events.Notice(level="info", text=text)


async def test_order_and_number_survive_a_flood_both_ways() -> None:
    front = spawn(ECHO)
    for number in range(5000):
        front.send(commands.Send(text=str(number)))
    front.send(commands.Close())
    texts = [event.text for event in await told(front) if isinstance(event, events.Notice)]
    await front.close()
    assert texts == [str(number) for number in range(5000)]


async def test_stray_prints_do_not_reach_the_pipe(tmp_path: Path) -> None:
    """Prints of a library or of a child go to the log; reading finds nothing."""
    log = tmp_path / "worker.log"
    front = spawn(
        """
        print("from a library", flush=True)
        os.system("echo from a child")
        back.emit(events.Notice(level="info", text=repr(sys.stdin.read())))
        """,
        log,
    )
    assert await told(front) == [events.Notice(level="info", text="''")]
    await front.close()
    assert log.read_text() == "from a library\nfrom a child\n"


async def test_a_worker_that_dies_in_a_line_ends_the_events(tmp_path: Path) -> None:
    """AGT-1: death is the end of `events`; half a line is dropped, the reason is in the log."""
    log = tmp_path / "worker.log"
    front = spawn(
        """
        back.emit(events.Notice(level="info", text="whole"))
        await asyncio.sleep(0.05)
        back._outlet.write(b'{"is":"Noti')
        raise RuntimeError("broken")
        """,
        log,
    )
    assert await told(front) == [events.Notice(level="info", text="whole")]
    await front.close()
    assert front.process.returncode == 1
    assert "RuntimeError: broken" in log.read_text()


async def test_a_killed_worker_ends_the_events() -> None:
    front = spawn("await asyncio.sleep(60)")
    os.kill(front.process.pid, signal.SIGKILL)
    assert await told(front) == []
    front.send(commands.Interrupt())
    await front.close()
    assert front.process.returncode == -signal.SIGKILL


async def test_closing_the_front_ends_the_worker_and_frees_its_own_reader() -> None:
    front = spawn("assert await back.receive() is None")
    reader = asyncio.create_task(told(front))
    await asyncio.sleep(0.05)
    await front.close()
    assert await asyncio.wait_for(reader, 1) == []
    assert front.process.returncode == 0


async def test_a_worker_that_writes_to_nobody_still_leaves() -> None:
    front = spawn(
        """
        while await back.receive() is not None:
            pass
        for _ in range(50):
            back.emit(events.Notice(level="info", text="x" * 100_000))
        """
    )
    await front.close()
    assert front.process.returncode == 0


async def test_the_worker_is_out_of_the_terminals_reach() -> None:
    """Ctrl+C and a closed terminal signal the front's session, not the worker's."""
    front = spawn("back.emit(events.Notice(level='info', text=str(os.getsid(0))))")
    [notice] = await told(front)
    await front.close()
    assert isinstance(notice, events.Notice)
    assert int(notice.text) == front.process.pid != os.getsid(0)


async def test_a_cancelled_wait_loses_no_command() -> None:
    front = spawn(
        """
        waiting = asyncio.ensure_future(back.receive())
        await asyncio.sleep(0.05)
        waiting.cancel()
        back.emit(events.Notice(level="info", text="now"))
        back.emit(events.Notice(level="info", text=(await back.receive()).text))
        """
    )
    heard = []
    async for event in front.events():
        heard.append(event)
        if len(heard) == 1:
            front.send(commands.Send(text="still here"))
    await front.close()
    assert heard[1] == events.Notice(level="info", text="still here")


def test_a_process_without_pipes_is_refused() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    with pytest.raises(ValueError, match="pipes"):
        PipeFront(process)
