"""What is put in the way of a session that leaves its window: each case is one trouble at one place
of one situation (ROL-13). `test_rollover_faults.py` plays a part of them, `sweep_rollover.py` all.
"""

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from nodwyn_tui.agent.ledger import Ledgers
from nodwyn_tui.domain import events as ev
from nodwyn_tui.link import commands
from nodwyn_tui.link import events as up
from nodwyn_tui.store.archive import Archive
from nodwyn_tui.store.log import Log
from tests.agent.rig import Rig
from tests.faults import tripping
from tests.faults.rolling import AGAIN, ALLOW, World, steps_of
from tests.faults.tripping import Refusing, StopAt, Wire

FRESH, ASKED, ANSWERED = ev.FreshContext.type, ev.LlmRequest.type, ev.LlmResponse.type
DONE = ev.ToolResult.type
ROWS = (ev.WindowReset, ev.WindowLeadIn)
WHOLE = 1 << 20
"""More bytes than any append here has."""

Fork = Callable[[Callable[[], None]], int]
Disk = Callable[[pytest.MonkeyPatch, Wire], Refusing]


@dataclass(frozen=True)
class Case:
    """One trouble; `play` says whether there was anything at that place."""

    trouble: str
    place: str
    play: Callable[[], bool]


def places(world: World) -> Iterator[tuple[str, ...]]:
    """The appends on the way, each by lines that are met one after the other."""
    opens = world.situation.opens
    yield (DONE,)
    yield (opens,)
    if opens == ev.WindowReset.type:
        yield opens, FRESH
    yield opens, ASKED
    yield opens, ANSWERED


def refusals(world: World) -> Iterator[Case]:
    """The disk refuses an append, and later takes it; or never does."""
    disks: Sequence[Disk] = (tripping.full, tripping.read_only, tripping.failing)
    for kinds in places(world):
        for disk in disks:

            def play(kinds: tuple[str, ...] = kinds, disk: Disk = disk) -> bool:
                with pytest.MonkeyPatch.context() as patch:
                    asyncio.run(_refused(world, disk(patch, Wire(*kinds)), kinds))
                return True

            yield Case(f"disk {disk.__name__}", kinds[-1], play)


async def _refused(world: World, disk: Refusing, kinds: tuple[str, ...]) -> None:
    rig = world.enter()
    await rig.open(resume="last", allow=ALLOW)
    before = len(rig.log())
    ended = await world.trigger(rig)
    assert disk.refuses
    # A last reply is held, and shown as unsaved; nothing depends on it.
    assert ended.why == ("done" if ended.text == "done" else "error"), ended
    assert ended.text != "done" or kinds[-1] == ANSWERED
    assert not Log.read(world.log).damage
    since = rig.log()[before:]
    rows = [e.type for e in since if isinstance(e, ROWS)]
    assert not rows or rows == [row.type for row in ROWS], "all of it, or nothing"
    assert kinds[0] == DONE or bool(rows) == (len(kinds) > 1 and kinds[0] == ROWS[0].type)
    assert set(world.marks) <= set(steps_of(rig.log())), "what ran is in the log"
    given = [e.text for e in rig.told(up.NotSent)]
    waits = rig.told(up.Queued)[-1].texts if rig.told(up.Queued) else ()
    said = [e.text for e in since if isinstance(e, ev.UserMessage)]
    for text in world.situation.typed:
        assert any(text in each for each in (*said, *given, *waits)), f"lost: {text}"
    kept = world.keep()
    disk.lift()
    await world.go_on(rig)
    await rig.close()
    await world.resume(Rig(world.folder), ())
    world.enter(kept)  # as a process leaves it that is killed while the disk refuses
    await world.resume(Rig(world.folder), world.situation.typed)


def kills(world: World, fork: Fork, sizes: Sequence[int], at: Sequence[int]) -> Iterator[Case]:
    """The process is killed in the middle of a write: of the batch after `sizes` bytes, of a later
    append after `at`.
    """
    for kinds in places(world):
        for byte in sizes if kinds == (world.situation.opens,) else at:

            def play(kinds: tuple[str, ...] = kinds, byte: int = byte) -> bool:
                killed(world, fork, kinds, byte)
                asyncio.run(world.resume(Rig(world.folder), world.situation.typed))
                return True

            yield Case("killed", f"{kinds[-1]} at {byte}", play)


def killed(world: World, fork: Fork, kinds: tuple[str, ...], byte: int) -> None:
    """A process of its own takes the way out of the window, and is killed there."""
    rig = world.enter()

    async def work() -> None:
        await rig.open(resume="last", allow=ALLOW)
        tripping.kill_at(Wire(*kinds), byte)
        await world.trigger(rig)

    child = fork(lambda: asyncio.run(work()))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


@dataclass(frozen=True)
class Batch:
    """A session whose last append opens a window or warns, in a folder of its own, and where in the
    log that append's lines end.
    """

    kept: Path
    start: int
    ends: Sequence[int]

    @property
    def size(self) -> int:
        """Its bytes."""
        return self.ends[-1] - self.start


def batch(world: World, fork: Fork) -> Batch:
    """The batch of a situation, whole; the log's index knows it."""
    killed(world, fork, (world.situation.opens,), WHOLE)
    with contextlib.closing(Archive(world.log, Ledgers())) as archive:
        archive.keep_up()
    lines = world.log.read_bytes().splitlines(keepends=True)
    opens = f'"type":"{world.situation.opens}"'.encode()
    first = next(n for n, line in enumerate(lines) if n > world.lines and opens in line)
    ends = [sum(map(len, lines[: n + 1])) for n in range(first, len(lines))]
    return Batch(world.keep(), ends[0] - len(lines[first]), ends)


def cuts(world: World, whole: Batch, step: int) -> Iterator[Case]:
    """Power is lost: the log ends within the batch, at its lines' ends and every `step` bytes."""
    ends = [end - whole.start for end in whole.ends]
    near = {end + by for end in ends for by in (-1, 0, 1) if end + by <= whole.size}
    for byte in sorted({*near, *range(0, whole.size, step)}):

        def play(byte: int = byte) -> bool:
            world.enter(whole.kept)
            os.truncate(world.log, whole.start + byte)
            asyncio.run(world.resume(Rig(world.folder), world.situation.typed))
            return True

        yield Case("power lost", f"batch at {byte}", play)


def stops(world: World, waits: Iterable[int]) -> Iterator[Case]:
    """Esc where the run waits for the n-th time; nothing where it waits less often."""
    for at in waits:

        def play(at: int = at) -> bool:
            return asyncio.run(_stopped(world, at))

        yield Case("stopped", f"wait {at}", play)


async def _stopped(world: World, at: int) -> bool:
    rig = world.enter()
    await rig.open(resume="last", allow=ALLOW)
    stop = StopAt(at)
    ended = await world.trigger(rig)
    assert ended.why == ("interrupted" if stop.stopped else "done")
    await _second(world)
    last = [e for e in rig.log() if isinstance(e, ev.LlmRequest | ev.RunEnd)][-1]
    assert isinstance(last, ev.RunEnd), "nothing goes on by itself"
    await world.go_on(rig)
    await rig.close()
    await world.resume(Rig(world.folder), ())
    return stop.stopped


async def _second(world: World) -> None:
    """A second process reads the session meanwhile, and writes nothing."""
    other, log = Rig(world.folder), world.log.read_bytes()
    assert (await other.open(resume="last")).read_only
    other.tell(commands.Send(text=AGAIN))
    assert "read-only" in (await other.until(up.Notice)).text
    await other.close()
    assert world.log.read_bytes() == log


def changes(world: World, fork: Fork) -> Iterator[Case]:
    """Between the stop of the step and the append, or right after it, the session is opened again
    with another strategy or another model; then as it was.
    """
    ways = {"trim": {"strategy": "trim"}, "compact": {"strategy": "compact"}}
    for name, opened in {**ways, "another model": {"model": "m2"}}.items():
        for byte in (0, WHOLE):

            def play(opened: dict[str, str] = opened, byte: int = byte) -> bool:
                killed(world, fork, (world.situation.opens,), byte)
                typed = world.situation.typed
                asyncio.run(world.resume(Rig(world.folder), typed, **opened))
                asyncio.run(world.resume(Rig(world.folder), ()))
                return True

            yield Case(f"opened with {name}", "before" if not byte else "after", play)
