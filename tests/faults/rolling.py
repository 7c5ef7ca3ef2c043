"""Sessions right before their window is warned of or left, each in another way, and what has to
hold of them whatever was put in their way (ROL-13).
"""

import asyncio
import re
import shutil
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from nodwyn_tui.domain import events as ev
from nodwyn_tui.link import commands
from nodwyn_tui.link import events as up
from nodwyn_tui.window import handover, lead_in
from nodwyn_tui.window.budget import Budget, RollOver
from nodwyn_tui.window.build import UNTRIMMED, build
from nodwyn_tui.window.contexts import place
from tests.agent.rig import Rig
from tests.fakes.chat_server import ChatServer
from tests.fakes.prefix_cache import overflow
from tests.fakes.script import Item, calls, error, say

AGAIN = "typed again"
STEER = "and this while you work"
MARKS = "marks.txt"
LEFT = lead_in.BEHIND.partition(".")[0]
ALLOW = ("shell: *",)

BY_ITSELF = (
    ev.SessionRecovered,
    ev.SessionResume,
    ev.ToolResult,
    ev.RunEnd,
    ev.UserQueued,
    ev.WindowRewind,
)
"""What opening a session may add to its log, besides remarks to the person: nothing that a model is
asked, nothing that runs.
"""
LED = (ev.WindowLeadIn, ev.SessionRecovered, ev.SessionResume)
"""What stands behind a reset; any but the first where the power went."""


class Model:
    """Does as the last message says: `work N` takes N steps of two calls, each of which leaves a
    mark of its own; `refuse N` finds the request after N steps too long, `fail N` breaks down at
    it. In a new window it takes one more step and is done.
    """

    def __init__(self) -> None:
        self.step = self.left = 0
        self.trouble: tuple[str, int] | None = None
        self._lock = threading.Lock()

    def __call__(self, body: Mapping[str, Any]) -> Item:
        with self._lock:
            return self._answer(behind_the_last_reply(body))

    def _answer(self, said: str) -> Item:
        if handover.REQUEST.partition(".")[0] in said:
            return say("a note")
        if AGAIN in said:
            return say("here")
        if LEFT in said:
            self.left, self.trouble = 1, None
        elif found := re.search(r"work (\d+)(?:, (refuse|fail) (\d+))?", said):
            self.left = int(found[1])
            self.trouble = (found[2], self.left - int(found[3])) if found[2] else None
        if self.trouble and self.trouble[1] == self.left:
            kind, self.trouble = self.trouble[0], None
            return error(400, overflow(9_999, 8_192)) if kind == "refuse" else error(500, "down")
        if not self.left:
            return say("done")
        self.left -= 1
        self.step += 1
        command = f"echo {self.step} >> {MARKS}; seq {self.step * 1000} {self.step * 1000 + 100}"
        return calls(("shell", {"command": command}), ("fs-list", {"path": "."}))


def behind_the_last_reply(body: Mapping[str, Any]) -> str:
    """What was said since the model spoke last."""
    said: list[str] = []
    for message in body["messages"]:
        if message["role"] == "user":
            said.append(str(message["content"]))
        else:
            said.clear()
    return "\n".join(said)


@dataclass(frozen=True)
class Situation:
    """A session of so many `steps`, the `text` that brings it over a mark, whether something is
    typed meanwhile, and the kind of line that is appended first then.
    """

    steps: int
    text: str
    steer: bool = False
    opens: str = ev.WindowReset.type
    fallback: bool = False

    @property
    def typed(self) -> Sequence[str]:
        """What the person types."""
        return (self.text, STEER) if self.steer else (self.text,)


SOME, MORE, LONG = " please" * 40, " please" * 130, " please" * 150
SITUATIONS = {
    "on send": Situation(7, f"work 1{LONG}"),
    "in mid-run": Situation(7, f"work 2{SOME}"),
    "with a steer": Situation(7, f"work 2{SOME}", steer=True),
    "refused on send": Situation(3, "work 1, refuse 0"),
    "refused in mid-run": Situation(3, "work 2, refuse 1"),
    "a smaller model takes over": Situation(7, "work 2, fail 0", fallback=True),
    "a smaller model in mid-run": Situation(5, "work 2, fail 1", fallback=True),
    "warned on send": Situation(4, f"work 1{LONG * 2}", opens=ev.BudgetWarning.type),
    "warned in mid-run": Situation(4, f"work 1{MORE}", opens=ev.BudgetWarning.type),
    "warned with a steer": Situation(4, f"work 1{MORE}", steer=True, opens=ev.BudgetWarning.type),
}


class World:
    """A situation on the disk, to be entered again and again."""

    def __init__(self, folder: Path, server: ChatServer, situation: Situation) -> None:
        self.folder, self.server, self.situation = folder, server, situation
        self.model = Model()
        self._before = folder / "before"
        self.lines = 0
        """Of the log, where the situation begins."""

    def prepare(self, smaller: ChatServer) -> None:
        """Plays the session up to where the situation begins."""
        for server in (self.server, smaller):
            server.script, server.repeat = [self.model], True
        rig = Rig(self.folder)
        rig.configure(self.server, smaller, strategy="rollover", fresh="on_change")
        if self.situation.fallback:
            settings = rig.home / "config.toml"
            settings.write_text('fallback = "m2"\n' + settings.read_text())
        asyncio.run(self._fill(rig))
        self.lines = self.log.read_bytes().count(b"\n")
        self._before = self.keep()

    async def _fill(self, rig: Rig) -> None:
        await rig.open(allow=ALLOW)
        assert (await rig.ask(f"work {self.situation.steps}")).why == "done"
        await rig.close()

    def keep(self) -> Path:
        """A copy of all that is on the disk now, for `enter`."""
        kept = self.folder / "kept" / str(len(list(self.folder.glob("kept/*"))))
        for name in ("ws", "home"):
            shutil.copytree(self.folder / name, kept / name)
        return kept

    def enter(self, kept: Path | None = None) -> Rig:
        """The session as the situation begins, or as it was kept; what became of it the last time
        is put aside.
        """
        aside = self.folder / "after" / str(len(list(self.folder.glob("after/*"))))
        aside.parent.mkdir(exist_ok=True)
        (self.folder / "ws").rename(aside)
        shutil.rmtree(self.folder / "home")
        for name in ("ws", "home"):
            shutil.copytree((kept or self._before) / name, self.folder / name)
        return Rig(self.folder)

    @property
    def log(self) -> Path:
        """The session's log."""
        (path,) = (self.folder / "ws").rglob("log.jsonl")
        return path

    @property
    def marks(self) -> list[str]:
        """What the calls left, in their order."""
        return (self.folder / "ws" / MARKS).read_text().split()

    async def trigger(self, rig: Rig) -> up.RunEnded:
        """Types what brings the window over its mark, and waits for the run's end."""
        rig.tell(commands.SaveDraft(text=self.situation.text))
        rig.tell(commands.Send(text=self.situation.text))
        if self.situation.steer:
            rig.tell(commands.Send(text=STEER, steer=True))
        ended = await rig.until(up.RunEnded)
        rig.tell(commands.SetMode(mode="ask"))
        await rig.until(up.ModeChanged)
        while len(rig.told(up.RunStarted)) > len(rig.told(up.RunEnded)):
            await rig.until(up.RunEnded)  # it was over before the rest was typed
        return ended

    async def go_on(self, rig: Rig) -> None:
        """The next message decides anew from the log, and is answered."""
        before = rig.log()
        ended = await rig.ask(AGAIN)
        assert (ended.why, ended.text) == ("done", "here"), ended
        assert self.server.violations == []
        events = rig.log()
        self.check(events)
        left = any(isinstance(e, ev.WindowReset) for e in events[len(before) :])
        assert_decided(before, left=left)

    async def resume(self, rig: Rig, typed: Sequence[str], **opened: Any) -> None:
        """Opens the session again: nothing runs, what was `typed` is there, and it goes on."""
        marks, asked = self.marks, len(self.server.bodies)
        draft = (await rig.open(resume="last", allow=ALLOW, **opened)).draft
        events = rig.log()
        resumed = max(e.seq for e in events if isinstance(e, ev.SessionResume))
        since = [e for e in events if e.seq >= resumed]
        assert all(isinstance(e, BY_ITSELF) or _is_remark(e) for e in since), since
        assert (self.marks, len(self.server.bodies)) == (marks, asked)
        told = [e.text for e in events if isinstance(e, ev.UserMessage)]
        for text in typed:
            assert any(text in each for each in (*told, draft)), f"lost: {text}"
        await self.go_on(rig)
        await rig.close()

    def check(self, events: Sequence[ev.Event]) -> None:
        """What holds of every log."""
        budget, warned, rollovers, ceiling = Budget(), set[str](), set[str](), 0
        after = {one.seq: other for one, other in pairwise(events)}
        for event in events:
            if isinstance(event, ev.WindowReset) and event.kind == "rollover":
                assert event.rollover_id == budget.rollover_id
                assert event.rollover_id not in rollovers, "a second reset of one window"
                rollovers.add(event.rollover_id)
                assert isinstance(after[event.seq], LED), "led in, unless that was cut off"
            if isinstance(event, ev.RecipeEvent):
                ceiling = event.recipe.window.ceiling
            assert not isinstance(event, ev.LlmRequest) or event.estimate <= ceiling
            if isinstance(event, ev.BudgetWarning):
                assert budget.window not in warned, "a second warning in one window"
                warned.add(budget.window)
            budget.feed(event)
        calls = [e.call_id for e in events if isinstance(e, ev.ToolCall)]
        results = [e.call_id for e in events if isinstance(e, ev.ToolResult)]
        assert calls == results, "each call has its one result"
        assert not list(parted(events)), "nothing stands between a call and its result"
        marks = self.marks
        assert len(set(marks)) == len(marks), "no call ran twice"
        assert set(marks) <= set(steps_of(events)), "and none that the log does not hold"


def steps_of(events: Sequence[ev.Event]) -> list[str]:
    """The steps whose calls are in a log."""
    made = (e.arguments for e in events if isinstance(e, ev.ToolCall))
    return [step for each in made for step in re.findall(r"echo (\d+) ", each)]


def assert_decided(events: Sequence[ev.Event], *, left: bool) -> None:
    """Whether a window was `left` for the next message is what its log tells."""
    budget = Budget()
    for event in events:
        budget.feed(event)
    recipe = [e for e in events if isinstance(e, ev.RecipeEvent)][-1].recipe
    again = ev.UserMessage(seq=events[-1].seq + 1, text=AGAIN)
    window = build([*events, replace(again, ctx=place(events).ctx)], recipe, UNTRIMMED)
    decided = budget.decide("on-send", window, recipe)
    assert left or not isinstance(decided, RollOver)
    assert not left or recipe.strategy == "rollover"
    assert not left or not budget.is_fresh("on-send")


def parted(events: Sequence[ev.Event]) -> Iterator[ev.Event]:
    """Lines of the window between calls and their results."""
    waiting: set[str] = set()
    for event in events:
        match event:
            case ev.ToolCall():
                waiting.add(event.call_id)
            case ev.ToolResult():
                waiting.discard(event.call_id)
            case ev.WindowReset() | ev.WindowLeadIn() | ev.UserMessage() | ev.BudgetWarning():
                if waiting:
                    yield event
            case _:
                pass


def _is_remark(event: ev.Event) -> bool:
    return isinstance(event, ev.Note) and event.audience == "person"
