"""A session that was opened again goes on as one that was never closed (ENG-11, ENG-23): made-up
sessions are played with restarts and without, and their servers must receive the same bytes.
"""

import json
import random
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nodwyn_tui.domain import events as ev
from nodwyn_tui.link import commands
from nodwyn_tui.link import events as up
from nodwyn_tui.store.log import Log
from tests.agent.rig import Rig
from tests.agent.test_compaction import asks_for_a_note
from tests.fakes.chat_server import ChatServer
from tests.fakes.script import Item, Say, call, say

Step = tuple[str, Any]

NOTES = (say("NOTE what was done"), say("NOTE " + "at length " * 300), say(""), call("fs-list", {}))
CALLS = (
    ("fs-read", {"path": "long.txt"}),
    ("fs-read", {"path": "long.txt", "start": 40, "end": 160}),
    ("fs-read", {"path": "short.txt"}),
    ("fs-read", {"path": "none.txt"}),
    ("plan-write", {"items": [{"text": "look", "state": "doing"}]}),
    ("session_history", {"action": "read_item", "item": "i:6"}),
)
DECISIONS = (ev.WindowReset, ev.WindowLeadIn, ev.BudgetWarning, ev.BudgetBlocked)
FOLDING = {"input": 2.0, "cached": 1.0, "output": 4.0}
"""Prices at which folds pay before the prefix is lost anyway."""


class Model:
    """Answers by chance, the same each time: the nth request gets the nth answer of its seed."""

    def __init__(self, seed: int) -> None:
        self.seed, self.asked = seed, 0

    def __call__(self, body: Mapping[str, Any]) -> Item:
        self.asked += 1
        chance = random.Random(self.seed * 10_007 + self.asked)
        if asks_for_a_note(body):
            return chance.choice(NOTES)
        since = [message["role"] for message in body["messages"]]
        steps = len(since) - 1 - max(at for at, role in enumerate(since) if role == "user")
        if steps > 12 or chance.random() < 0.2:
            return say("word " * chance.choice([2, 60, 500]))
        name, arguments = chance.choice(CALLS)
        made = call(name, arguments)
        return Say("so", "hm " * 40, made.calls) if chance.random() < 0.3 else made


def steps_of(seed: int, *, each: bool = False) -> list[Step]:
    """What the person does in a session; with `each`, it is opened again after each step."""
    chance, steps = random.Random(seed), [("ask", 3), ("ask", 100)]
    for _ in range(16):
        kind = chance.choices(
            ("ask", "restart", "clear", "accept", "drop", "undo", "rewind", "edit"),
            (6, 5, 1, 1, 1, 1, 2, 3),
        )[0]
        steps.append((kind, chance.randrange(200)))
    again = [("restart", 0)] if each else []
    return [*(s for step in steps for s in (step, *again)), ("restart", 0), ("ask", 9)]


class Person:
    """Does the steps, with restarts, or with two lines of the log in place of each."""

    def __init__(self, rig: Rig, *, restarts: bool) -> None:
        self.rig, self.restarts = rig, restarts

    async def do(self, step: Step) -> None:
        rig = self.rig
        match step:
            case "ask", count:
                await rig.ask("please " * (count + 1))
            case "restart", _ if self.restarts:
                assert rig.opened is not None
                await rig.close()
                await rig.open(resume=rig.opened.session)
            case "restart", _:
                await self.set_mode("edits")
                await self.set_mode("ask")
            case "clear", _:
                rig.tell(commands.ClearWindow())
            case ("accept" | "drop" | "undo") as how, _:
                await self.compact(how)
            case "rewind", _:
                rig.tell(commands.EditWindow(entry_id="", action="rewind"))
                await rig.until(up.Returned | up.Notice)
            case "edit", number:
                await self.edit(number)
        await self.set_mode("ask")  # it is answered once all before it is done

    async def set_mode(self, mode: ev.Mode) -> None:
        self.rig.tell(commands.SetMode(mode=mode))
        await self.rig.until(up.ModeChanged)

    async def compact(self, how: str) -> None:
        rig = self.rig
        rig.tell(commands.Compact())
        got = await rig.until(up.CompactionOffered | up.CompactionEnded | up.Notice)
        if not isinstance(got, up.CompactionOffered):
            return
        taken = commands.AcceptCompaction(note=got.note)
        rig.tell(commands.DropCompaction() if how == "drop" else taken)
        await rig.until(up.CompactionEnded)
        if how == "undo":
            rig.tell(commands.UndoCompaction())
            await rig.until(up.CompactionEnded)

    async def edit(self, number: int) -> None:
        """Something with one of the latest calls, if it can be done."""
        made = self.rig.of(ev.ToolCall)[-8:]
        if made:
            entry = f"{made[number % len(made)].seq:08}"
            action = ("fold", "drop", "drop_step", "restore")[number % 4]
            self.rig.tell(commands.EditWindow(entry_id=entry, action=action))
            await self.rig.until(up.Notice)


async def played(
    folder: Path, seed: int, model: Mapping[str, Any], *, restarts: bool
) -> Sequence[tuple[Any, ...]]:
    """The messages that each request of a session had, and what its log says of it."""
    shutil.rmtree(folder / "ws", ignore_errors=True)
    rig = Rig(folder)
    (rig.workspace / "long.txt").write_text("".join(f"line {n} of many\n" for n in range(400)))
    (rig.workspace / "short.txt").write_text("short\n")
    with ChatServer([Model(seed)], repeat=True, context=8_192, cache="blocks") as server:
        rig.configure(server, **model)
        await rig.open()
        person = Person(rig, restarts=restarts)
        for step in steps_of(seed, each=model["strategy"] == "rollover"):
            await person.do(step)
        await rig.close()
        assert server.violations == []
        sent = [json.dumps(got.body["messages"]) for got in server.bodies]
    recorded = [
        (r.seq, r.ctx, r.purpose, r.digest, r.estimate, r.elided, r.high_water)
        for r in rig.of(ev.LlmRequest)
    ]
    shutil.rmtree(folder / str(restarts), ignore_errors=True)
    shutil.copytree(folder / "ws", folder / str(restarts))
    return list(zip(sent, recorded, strict=True))


@pytest.mark.parametrize(
    ("seed", "strategy"),
    [(2, "compact"), (5, "compact"), (3, "trim"), (7, "trim")],
)
async def test_restarts_change_nothing_of_what_is_sent(
    tmp_path: Path, home: Path, seed: int, strategy: str
) -> None:
    """ENG-11, ENG-15, ENG-23, AGT-16."""
    model = {"strategy": strategy, "price": FOLDING} if seed % 4 else {"strategy": strategy}
    went_on = await played(tmp_path, seed, model, restarts=False)
    came_back = await played(tmp_path, seed, model, restarts=True)
    assert len(went_on) > 20
    assert came_back == went_on


@pytest.mark.parametrize(("seed", "fresh"), [(8, "on_change")])
async def test_restarts_decide_no_other_way(
    tmp_path: Path, home: Path, seed: int, fresh: str
) -> None:
    """ROL-4: warned and left at the same places, though it is opened again after each step."""
    model = {"strategy": "rollover", "fresh": fresh}
    decided = []
    for restarts in (False, True):
        sent = await played(tmp_path, seed, model, restarts=restarts)
        (log,) = (tmp_path / str(restarts)).rglob("log.jsonl")
        events = [e for e in Log.read(log).events if isinstance(e, DECISIONS)]
        decided.append((sent, [replace(e, at="") for e in events]))
    went_on, came_back = decided
    assert len(went_on[1]) > 5
    assert came_back == went_on
