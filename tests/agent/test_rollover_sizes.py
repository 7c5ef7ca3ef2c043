"""ROL-5: whatever the sizes of results and messages are, a session leaves its windows a bounded
number of times; a window that is too small twice in a row is blocked, with figures and what to do.
"""

import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from nodwyn_tui.domain import events as ev
from nodwyn_tui.link import commands
from nodwyn_tui.link import events as up
from nodwyn_tui.window import handover
from tests.agent.rig import Rig
from tests.fakes.chat_server import ChatServer
from tests.fakes.script import Item, calls, say

SIZES = (100, 700, 3_000, 20_000, 200_000)
"""Bytes of a result."""
MOST_STEPS = 14


class Model:
    """Reads some files at once, step after step, and says more or less at the end."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.chance, self.left = random.Random(seed), 0
        for size in SIZES:
            line = "a line among many others\n"
            (folder / f"{size}.txt").write_text(line * (size // len(line) + 1))

    def begin(self) -> None:
        """Another run."""
        self.left = self.chance.randrange(1, MOST_STEPS)

    def __call__(self, body: Mapping[str, Any]) -> Item:
        self.left -= 1
        if self.left < 0:
            return say("word " * self.chance.choice((1, 200, 1_500)))
        many = self.chance.choice((1, 1, 2, 6, 12))
        paths = [f"{self.chance.choice(SIZES)}.txt" for _ in range(many)]
        return calls(*(("fs-read", {"path": path}) for path in paths))


async def played(rig: Rig, seed: int, context: int, *, holds: int) -> Sequence[up.RunEnded]:
    """How the runs of a session ended, whose server `holds` so many tokens."""
    chance, ends = random.Random(seed), list[up.RunEnded]()
    model = Model(seed, rig.workspace)
    with ChatServer([model], repeat=True, context=holds) as server:
        rig.configure(server, strategy="rollover", context=context)
        await rig.open()
        for _ in range(8):
            model.begin()
            words = chance.choice((1, 40, 400, context // 8, context // 4, context // 2, context))
            ends.append(await rig.ask("please " * words))
            if ends[-1].why == "blocked" and chance.random() < 0.7:
                rig.tell(commands.ClearWindow())
        await rig.close()
    assert server.violations == []
    return ends


def assert_bounded(events: Sequence[ev.Event], ends: Sequence[up.RunEnded]) -> None:
    """No window is left in which nothing was said or answered; never two of them too small in a
    row; each block says why and what to do, and what was typed is there.
    """
    since, small = 0, False
    for event in events:
        match event:
            case ev.WindowReset(kind="manual"):
                since, small = 0, False
            case ev.WindowReset():
                assert since, "nothing had happened since the last one"
                assert not (small and event.too_small), "two in a row"
                since, small = 0, bool(event.too_small)
            case ev.UserMessage(via="prompt", rejected=False) | ev.LlmResponse():
                since += 1
            case ev.BudgetBlocked():
                assert event.figures
                assert event.remedies
            case ev.LlmRequest():
                assert not event.elided
            case _:
                pass
    resets = [e for e in events if isinstance(e, ev.WindowReset) and e.kind == "rollover"]
    replies = [e for e in events if isinstance(e, ev.LlmResponse)]
    said = [e for e in events if isinstance(e, ev.UserMessage) and e.via == "prompt"]
    assert len(resets) <= len(replies) + len(ends)
    assert len(said) >= len(ends), "each message is in the log"
    for end in ends:
        assert end.why in ("done", "blocked", "error"), end


@pytest.mark.parametrize(
    ("seed", "context", "share"), [(1, 8_192, 1.0), (2, 16_384, 1.0), (3, 8_192, 0.45)]
)
async def test_windows_are_left_a_bounded_number_of_times(
    rig: Rig, seed: int, context: int, share: float
) -> None:
    """ROL-5: also where the server holds less than it says."""
    ends = await played(rig, seed, context, holds=int(context * share))
    assert_bounded(rig.log(), ends)


def fills(body: Mapping[str, Any]) -> Item:
    """One reply whose results fill a window; nothing where there is no need for it."""
    said = [str(each["content"]) for each in body["messages"] if each["role"] == "user"]
    if handover.REQUEST.partition(".")[0] in said[-1]:
        return say("a note")
    if any("be brief" in text for text in said[-2:]):
        return say("done")
    return calls(*[("fs-read", {"path": "long.txt"})] * 12)


async def compact(rig: Rig) -> None:
    rig.tell(commands.Compact())
    note = (await rig.until(up.CompactionOffered)).note
    rig.tell(commands.AcceptCompaction(note=note))
    await rig.until(up.CompactionEnded)


async def clear(rig: Rig) -> None:
    rig.tell(commands.ClearWindow())


async def switch(rig: Rig) -> None:
    rig.tell(commands.SwitchModel(model="m2"))
    await rig.until(up.ModelChanged)


@pytest.mark.parametrize("remedy", [compact, clear, switch])
async def test_two_windows_too_small_are_blocked_until_something_is_done(
    rig: Rig, remedy: Callable[[Rig], Awaitable[None]]
) -> None:
    """ROL-5: with the figures; completed results are kept, and each remedy that is named helps."""
    (rig.workspace / "long.txt").write_text("a line among many others\n" * 120)
    with (
        ChatServer([fills], repeat=True, context=8_192) as server,
        ChatServer([fills], repeat=True, context=65_536, model="large") as large,
    ):
        rig.configure(server, large, strategy="rollover")
        await rig.open()
        assert (await rig.ask("read it all")).why == "blocked"
        assert [e.too_small for e in rig.of(ev.WindowReset)] == [True]
        assert len(rig.of(ev.ToolResult)) == 24
        for text in ("and now?", "be brief"):
            assert (await rig.ask(text)).why == "blocked"
            assert rig.of(ev.UserMessage)[-1].rejected
        assert all(e.figures["tokens"] > e.figures["ceiling"] for e in rig.of(ev.BudgetBlocked))
        assert len(server.bodies) == 2
        await remedy(rig)
        assert (await rig.ask("be brief")).why == "done"
        await rig.close()
    assert server.violations == large.violations == []
