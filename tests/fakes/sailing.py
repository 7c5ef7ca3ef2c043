"""A voyage as the real agent makes it: a session with facts planted in it whose windows are left as
they fill (ROL-15). `recall.py` builds a longer one event by event.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from nodwyn_tui.domain import events as ev
from tests.agent.rig import Rig
from tests.fakes.chat_server import ChatServer
from tests.fakes.recall import PLACES, Fact, facts
from tests.fakes.script import Item, Say, call, say
from tests.fakes.stocktaking import Sight

CONTEXT = 16_384
A_RUN = len(PLACES)
"""Facts that are told in a run: one in each place."""
FILLER = "a boat that sails by, as boats do, and nobody minds it\n" * 66
LONG = "a line of the register\n" * 1_000
NOTES = "The berths of ships are told one by one. All of them are in the session's history."


def planted(runs: int) -> list[Fact]:
    """The facts that so many runs tell."""
    return facts()[: runs * A_RUN]


async def sailed(folder: Path, runs: int) -> tuple[Path, int]:
    """Makes the voyage in an empty folder, whose `home` is `NODWYN_HOME`. The session's folder, and
    how many windows were left.
    """
    rig = Rig(folder)
    told = [planted(runs)[at : at + A_RUN] for at in range(0, runs * A_RUN, A_RUN)]
    for each in told:
        await asyncio.to_thread(_write, rig.workspace, each)
    with ChatServer([_Helm(told)], repeat=True, context=CONTEXT) as server:
        rig.configure(server, strategy="rollover", context=CONTEXT, fresh="auto")
        await rig.open(mode="edits", allow=("shell: *",))
        for number, each in enumerate(told):
            earlier = [fact.ship for fact in told[number - 3]] if number >= 3 else []
            others = " ".join(f"Nothing new about the ship {ship}." for ship in earlier)
            ended = await rig.ask(f"Mind that {_told(each[0])}. {others}")
            assert ended.why == "done", ended
        await rig.close()
    assert server.violations == []
    assert rig.opened is not None
    return Path(rig.opened.log_path).parent, len(rig.of(ev.WindowReset))


class _Helm:
    """A script's item: what each run tells, in order, and notes where a window is warned of."""

    def __init__(self, told: Sequence[Sequence[Fact]]) -> None:
        self._steps = iter([step for each in told for step in _steps(each)])

    def __call__(self, body: Mapping[str, Any]) -> Item:
        seen = Sight(body["messages"])
        if seen.is_warned and not seen.has_called("context-notes"):
            return call("memory", {"action": "write", "file": "context-notes", "text": NOTES})
        return next(self._steps)


def _steps(told: Sequence[Fact]) -> Iterator[Say]:
    """What a run does once its first fact is told."""
    _, reply, made, result, deep = told
    yield call("shell", {"command": f"echo '{_told(made)}' >> berths; cat boats"})
    yield call("shell", {"command": f"cat {result.ship}"})
    yield call("shell", {"command": f"cat {deep.ship}"})
    yield say(f"So {_told(reply)}.")


def _write(folder: Path, told: Sequence[Fact]) -> None:
    *_, result, deep = told
    (folder / "boats").write_text(FILLER)
    (folder / result.ship).write_text(f"{_told(result)}\n{FILLER}")
    words = f"Register of the ship {deep.ship}.\n" + "a detail\n" * 60
    (folder / deep.ship).write_text(f"{LONG}{words}Its berth is {deep.berth}.\n{LONG}")


def _told(fact: Fact) -> str:
    return f"the berth of the ship {fact.ship} is {fact.berth}"
