"""ROL-9: a run has ended where the window was to be left. What the person does then drops that, and
what it would have gone on with: their next message decides anew.
"""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from nodwyn_tui.domain import events as ev
from nodwyn_tui.link import commands
from nodwyn_tui.link import events as up
from tests.agent.rig import Rig
from tests.faults.rolling import AGAIN, ALLOW, World
from tests.faults.test_rollover_faults import world

Act = Callable[[Rig], Awaitable[None]]


async def nothing(rig: Rig) -> None:
    pass


async def interrupt(rig: Rig) -> None:
    rig.tell(commands.Interrupt())


async def clear(rig: Rig) -> None:
    rig.tell(commands.ClearWindow())


async def compact(rig: Rig) -> None:
    rig.tell(commands.Compact())
    note = (await rig.until(up.CompactionOffered)).note
    rig.tell(commands.AcceptCompaction(note=note))
    await rig.until(up.CompactionEnded)


async def rewind(rig: Rig) -> None:
    rig.tell(commands.EditWindow(entry_id="", action="rewind"))
    await rig.until(up.Returned)


async def drop(rig: Rig) -> None:
    for result in rig.of(ev.ToolCall)[:4]:
        rig.tell(commands.EditWindow(entry_id=f"{result.seq:08}", action="drop_step"))
        await rig.until(up.Notice)


LEAVES: dict[Act, tuple[str, ...]] = {
    nothing: ("window.reset", "window.lead_in"),
    interrupt: ("window.reset", "window.lead_in"),
    clear: (),
    compact: (),
    rewind: (),
    drop: (),
}
"""What of a rollover stands between the last run's end and the next message."""


@pytest.mark.parametrize("act", LEAVES, ids=lambda act: act.__name__)
def test_pending_rollover_is_dropped(tmp_path: Path, act: Act) -> None:
    """ROL-9, ROL-13: nothing but the person's own word goes on."""
    with world(tmp_path, "in mid-run") as here:
        asyncio.run(acted(here, act))


async def acted(here: World, act: Act) -> None:
    rig = here.enter()
    await rig.open(resume="last", allow=ALLOW, max_steps=1)
    assert (await here.trigger(rig)).why == "limit"
    ended, asked = rig.log(), len(here.server.bodies)
    await act(rig)
    assert (await rig.ask(AGAIN)).text == "here"
    since = rig.log()[len(ended) :]
    opens = (ev.WindowReset, ev.WindowLeadIn)
    opened = [e.type for e in since if isinstance(e, opens) and getattr(e, "rollover_id", "")]
    assert tuple(opened) == LEAVES[act]
    assert [e.text for e in since if isinstance(e, ev.UserMessage)] == [AGAIN]
    assert len(here.server.bodies) == asked + 1 + (act is compact)
    here.check(rig.log())
    await rig.close()
