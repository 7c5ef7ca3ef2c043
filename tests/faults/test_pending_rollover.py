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


async def switch(rig: Rig) -> None:
    rig.tell(commands.SwitchModel(model="m2"))
    await rig.until(up.ModelChanged)


LEAVES: dict[Act, tuple[str, ...]] = {
    nothing: ("window.reset", "window.lead_in"),
    interrupt: ("window.reset", "window.lead_in"),
    switch: ("window.reset", "window.lead_in"),
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
    ended = rig.log()
    await act(rig)
    assert (await rig.ask(AGAIN)).text == "here"
    since = rig.log()[len(ended) :]
    opens = (ev.WindowReset, ev.WindowLeadIn)
    opened = [e.type for e in since if isinstance(e, opens) and getattr(e, "rollover_id", "")]
    assert tuple(opened) == LEAVES[act]
    assert [e.text for e in since if isinstance(e, ev.UserMessage)] == [AGAIN]
    asked = [e for e in since if isinstance(e, ev.LlmRequest)]
    assert [e.purpose for e in asked] == [*["handover"] * (act is compact), "turn"]
    here.check(rig.log())
    await rig.close()


def test_person_goes_on_without_a_word(tmp_path: Path) -> None:
    """ROL-9: the one `Continue.` is theirs, and it carries the rollover."""
    with world(tmp_path, "in mid-run") as here:
        asyncio.run(gone_on(here))


async def gone_on(here: World) -> None:
    rig = here.enter()
    await rig.open(resume="last", allow=ALLOW, max_steps=1)
    assert (await here.trigger(rig)).why == "limit"
    ended = rig.log()
    await rig.close()
    await rig.open(resume="last", allow=ALLOW)
    rig.tell(commands.Continue())
    assert (await rig.until(up.RunEnded)).why == "done"
    since = rig.log()[len(ended) :]
    assert [e.via for e in since if isinstance(e, ev.UserMessage)] == ["continue"]
    (lead,) = (e for e in since if isinstance(e, ev.WindowLeadIn))
    assert here.situation.text in (lead.asked or "")
    await here.go_on(rig)
    await rig.close()
