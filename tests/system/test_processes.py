"""Processes started and ended as a group."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from nodwyn_tui.system import processes
from nodwyn_tui.system.processes import CannotStart, Process, start

ENVIRONMENT = {"PATH": os.environ["PATH"]}


@pytest.fixture
async def bash(tmp_path: Path) -> AsyncIterator["Starter"]:
    starter = Starter(tmp_path)
    yield starter
    for process in starter.started:
        await process.end(grace_s=0)
        process.close()
        for left in processes.leftovers(process):
            os.kill(left.pid, 9)


class Starter:
    """Starts bash commands and remembers them, so that each test ends what it began."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.started: list[Process] = []

    async def __call__(self, command: str, mark: str = "") -> Process:
        process = await start(
            ["bash", "-c", command], folder=self.folder, environment=ENVIRONMENT, mark=mark
        )
        self.started.append(process)
        return process


async def output(process: Process) -> bytes:
    pieces = []
    while piece := await asyncio.wait_for(process.read(), 30):
        pieces.append(piece)
    return b"".join(pieces)


def open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


async def named(process: Process, command: str, *, apart: bool) -> tuple[processes.Leftover, ...]:
    """What is left, once it became the program that it was started for."""
    for _ in range(1000):
        found = processes.leftovers(process)
        if found and (found[0].command, found[0].apart) == (command, apart):
            return found
        await asyncio.sleep(0.02)
    raise AssertionError(found)


async def test_output_and_errors_come_in_order(bash: Starter) -> None:
    process = await bash("echo one; echo two >&2; echo three; exit 7")
    assert await output(process) == b"one\ntwo\nthree\n"
    assert await process.wait() == 7
    assert not process.open
    assert await process.read() == b""
    assert process.take() == b""


async def test_standard_input_is_closed(bash: Starter) -> None:
    assert await output(await bash("cat; echo done")) == b"done\n"


async def test_the_environment_is_what_is_given(bash: Starter) -> None:
    """SEC-1: nothing of this program's own environment goes along."""
    os.environ["NODWYN_PLANTED"] = "secret"
    try:
        text = await output(await bash("env", mark="m1"))
    finally:
        del os.environ["NODWYN_PLANTED"]
    assert b"secret" not in text
    assert b"NODWYN_PROCESS=m1\n" in text


async def test_it_leads_a_session_without_a_terminal(bash: Starter) -> None:
    process = await bash("ps -o sid= -p $$; (echo >/dev/tty) 2>&1")
    text = await output(process)
    assert int(text.split()[0]) == process.pid
    assert b"/dev/tty" in text


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["no-such-program"], "not installed, or not in PATH"),
        (["./plain"], "may not be run"),
        (["./broken"], "could not be started"),
        (["bash", "-c", "x" * 3_000_000], "could not be started"),
        (["bash", "a\0b"], "could not be started"),
    ],
)
async def test_what_cannot_start(tmp_path: Path, command: list[str], message: str) -> None:
    (tmp_path / "plain").write_text("x")
    (tmp_path / "broken").write_bytes(b"\x7fELF nothing")
    (tmp_path / "broken").chmod(0o755)
    before = open_descriptors()
    with pytest.raises(CannotStart, match=message):
        await start(command, folder=tmp_path, environment=ENVIRONMENT)
    assert open_descriptors() == before


async def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(CannotStart, match=r"folder .* is not there"):
        await start(["true"], folder=tmp_path / "gone", environment=ENVIRONMENT)


async def test_waiting_ends_with_the_program_not_with_its_children(bash: Starter) -> None:
    process = await bash("sleep 60 & echo up")
    assert await asyncio.wait_for(process.wait(), 30) == 0
    assert await process.read() == b"up\n"
    assert process.open
    assert len(await named(process, "sleep 60", apart=False)) == 1


async def test_the_whole_group_is_ended(bash: Starter) -> None:
    process = await bash("sleep 60 & sleep 61 & (sleep 62; true); wait")
    await asyncio.sleep(0.1)
    await process.end()
    assert await process.wait() == -15
    assert processes.leftovers(process) == ()
    assert not processes.alive(process.pid)


async def test_who_does_not_listen_is_ended_by_force(bash: Starter) -> None:
    process = await bash("trap '' TERM; echo up; sleep 60; sleep 61")
    assert await process.read() == b"up\n"
    began = asyncio.get_running_loop().time()
    await process.end(grace_s=0.2)
    assert asyncio.get_running_loop().time() - began > 0.15
    assert await process.wait() == -9
    assert processes.leftovers(process) == ()


async def test_a_stopped_process_is_ended(bash: Starter) -> None:
    process = await bash("echo up; kill -STOP $$")
    assert await process.read() == b"up\n"
    await asyncio.wait_for(process.end(grace_s=120), 30)
    assert await process.wait() == -15


async def test_the_end_is_carried_through_when_cancelled(bash: Starter) -> None:
    process = await bash("trap '' TERM; echo up; sleep 60")
    assert await process.read() == b"up\n"
    ending = asyncio.create_task(process.end(grace_s=0.2))
    await asyncio.sleep(0.05)
    ending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await ending
    assert await asyncio.wait_for(process.wait(), 30) == -9


async def test_who_left_for_a_session_of_its_own_is_named(bash: Starter) -> None:
    """C51: known by the mark in its environment, whatever session it is in."""
    process = await bash("setsid sleep 60 & echo up", mark="marked-1")
    assert await process.wait() == 0
    (left,) = await named(process, "sleep 60", apart=True)
    await process.end(grace_s=0)
    assert processes.leftovers(process) == (left,)


async def test_a_reader_that_is_cancelled_can_read_again(bash: Starter) -> None:
    process = await bash("sleep 0.3; echo late")
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(process.read(), 0.05)
    assert process.take() == b""
    assert await asyncio.wait_for(process.read(), 30) == b"late\n"


async def test_who_writes_to_a_closed_stream_is_told(bash: Starter) -> None:
    process = await bash("while echo x; do :; done 2>/dev/null; exit 3")
    await process.read()
    process.close()
    process.close()
    assert await asyncio.wait_for(process.wait(), 30) in (3, -13)


async def test_descriptors_are_kept_where_asked(tmp_path: Path) -> None:
    with (tmp_path / "f").open("w+b") as file:
        process = await start(
            [sys.executable, "-c", f"import os; os.write({file.fileno()}, b'told')"],
            folder=tmp_path,
            environment=ENVIRONMENT,
            keep=[file.fileno()],
        )
        assert await process.wait() == 0
        process.close()
        file.seek(0)
        assert file.read() == b"told"


async def test_a_start_that_is_cancelled_leaves_nothing_open(tmp_path: Path) -> None:
    before = open_descriptors()
    task = asyncio.create_task(start(["sleep", "60"], folder=tmp_path, environment=ENVIRONMENT))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.sleep(0.05)
    assert open_descriptors() == before


def test_a_group_of_another_user_is_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_group: int, _number: int) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "killpg", refuse)
    assert processes.alive(1)


async def test_where_there_is_no_proc(
    bash: Starter, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """On macOS nothing can be named, and a group is known by the signal alone."""
    monkeypatch.setattr(processes, "_PROC", tmp_path / "none")
    process = await bash("sleep 60 & echo up", mark="m")
    await process.wait()
    (left,) = processes.leftovers(process)
    assert (left.pid, left.command, left.apart) == (process.pid, "", False)
    await process.end(grace_s=0.1)
    monkeypatch.undo()
    assert processes.leftovers(process) == ()
