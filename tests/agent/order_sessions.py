"""A session in which one thing changes between each request and the next: what the order of a
request is tested with (ORD-8).
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from typing import Any, Literal

from nodwyn_tui.agent.opening import Household
from nodwyn_tui.agent.worker import Worker
from nodwyn_tui.link import commands
from nodwyn_tui.link import events as up
from nodwyn_tui.link.local import Back
from nodwyn_tui.wiring import assemble
from tests.agent.rig import PATIENCE_S, Rig
from tests.fakes.anthropic_server import AnthropicServer
from tests.fakes.chat_server import ChatServer
from tests.fakes.clocks import SetClock
from tests.fakes.details_server import DetailsServer
from tests.fakes.ollama_server import OllamaServer
from tests.fakes.responses_server import ResponsesServer
from tests.fakes.script import Item, Say, Script, calls
from tests.fakes.server import FakeServer
from tests.store.test_skills import put

Change = Literal["recall", "state", "date", "skill", "mode", "all", "nothing"]
CHANGES: Sequence[Change] = ("recall", "state", "date", "skill", "mode", "all", "nothing")
REQUESTS = len(CHANGES) + 1
"""Of a session; a change stands between each two."""
RUN = REQUESTS // 2
"""Those of each of its two runs."""
ACROSS = RUN - 1
"""The change between the runs, where no call can make it."""
NOON, DAY = SetClock().now(), timedelta(days=1)
STEER = REQUESTS - 3
"""The reply whose calls run when the person says something: it is told, and then it is history."""
SAID = "Count the steps."
STEERED = "By the way: gently."


@dataclass(frozen=True)
class Way:
    """A protocol as a model's entry asks for it. `keep` is its `keep_reasoning`, `None` where the
    protocol knows none; `auto` is the placement that it gets unasked; `bears` are the kinds of
    units that can bear a mark, none where no marks are asked for; with `implicit` the server sets
    one more on the newest message.
    """

    name: str
    server: Callable[..., FakeServer]
    auto: str
    keep: bool | Literal["latest"] | None = None
    opaque: bool = False
    settings: Mapping[str, Any] = field(default_factory=dict)
    bears: frozenset[str] = frozenset()
    implicit: bool = False


def _ways() -> list[Way]:
    chat = partial(ChatServer, context=100_000)
    router = partial(DetailsServer, context=100_000, cache="marks")
    marks = {"cache_control": "ephemeral"}
    parts = frozenset({"system", "said", "plan", "note", "fresh", "answer", "result"})
    found = [
        Way("ollama", OllamaServer, "run_start"),
        Way("chat", chat, "each_request"),
        Way(
            "chat in turns",
            partial(chat, flavour="alternating"),
            "each_request",
            settings={"dialect": "alternating"},
        ),
        Way("chat, details", partial(router, cache="blocks"), "each_request", opaque=True),
        Way("chat, details, marks", router, "each_request", None, True, marks, parts),
    ]
    keeps: Sequence[bool | Literal["latest"]] = (False, "latest", True)
    for keep in keeps:
        said = {"keep_reasoning": keep}
        word = f"reasoning {str(keep).lower()}"
        stays = "on_change" if keep else "each_request"
        claude = partial(AnthropicServer, binding=keep is True)
        gpt = partial(ResponsesServer, cache="breakpoints")
        found += [
            Way(f"responses, {word}", ResponsesServer, "on_change", keep, bool(keep), said),
            Way(
                f"responses, {word}, marks", gpt, stays, keep, bool(keep), {**said, **marks},
                parts - {"answer"}, implicit=True,
            ),
            Way(f"anthropic, {word}", claude, "on_change", keep, bool(keep), said),
            Way(
                f"anthropic, {word}, marks", claude, stays, keep, bool(keep), {**said, **marks},
                parts | {"call"},
            ),
        ]  # fmt: skip
    return found


WAYS = _ways()


@dataclass(frozen=True)
class Now:
    """What fresh context has to say."""

    facts: int = 0
    stage: int = 0
    days: int = 0
    skill: int = 0
    mode: Literal["ask", "edits"] = "ask"

    def words(self) -> dict[str, tuple[str, ...]]:
        """What the row of each kind must have, by kind; of no other moment may it."""
        stage, date = self.stage, (NOON + self.days * DAY).astimezone()
        files = ", ".join(f"stage-{n}.txt" for n in range(1, stage + 1))
        state = {"working_state": (f"\n[>] stage {stage}\nFiles changed: {files}",)}
        return {
            **(state if stage else {}),
            "skills": (f"Body {self.skill}.",),
            "runtime": (f"Date: {date:%Y-%m-%d} ", f"approvals: {self.mode}"),
            "recall": (f"- the steps are {self.facts}",),
            "corrections": ("- use pnpm here",),
        }


class Session:
    """The session, in a rig. `shows` is what each request has to show, in order."""

    def __init__(self, rig: Rig, way: Way, placement: str, turn: int) -> None:
        self._rig, self._way, self._placement = rig, way, placement
        order = [*CHANGES[turn:], *CHANGES[:turn]]
        if (bad := order[ACROSS]) in {"state", "all"}:
            other = next(n for n, each in enumerate(order) if each not in {"state", "all"})
            order[ACROSS], order[other] = order[other], bad
        self.changes = order
        self.clock, self.now = SetClock(), Now()
        self.shows: list[Now] = []
        self._loop = asyncio.get_running_loop()

    def script(self) -> list[Script]:
        return [partial(self._reply, number) for number in range(REQUESTS)]

    async def run(self, server: FakeServer, *, carried: bool) -> None:
        """Both runs; with `carried` the second one is another process's."""
        rig = self._rig
        self._write()
        memory = rig.workspace / ".nodwyn" / "memory"
        (memory / "corrections.md").write_text("- use pnpm here\n")
        settings = {"context": 100_000, "num_ctx": 100_000, **self._way.settings}
        rig.configure(server, fresh=self._placement, **settings)
        rig.serve = self._serve
        allow = ("shell: *", "fs-write: *")
        await rig.open(allow=allow)
        rig.tell(commands.PickSkill(name="counting"))
        await rig.until(up.Notice, lambda notice: "counting" in notice.text)
        assert (await rig.ask(SAID)).text == "Done 3."
        if carried:
            await rig.close()
            await rig.open(resume="last", allow=allow, mode=self.now.mode)
        assert (await rig.ask(f"{SAID} Once more.")).text == "Done 7."
        await rig.close()

    async def _serve(self, back: Back) -> None:
        await Worker(back, self._assemble).serve()

    def _assemble(self, command: commands.Open) -> Household:
        household = assemble(command)
        return replace(household, rooms=replace(household.rooms, clock=self.clock))

    def _reply(self, number: int, _body: Mapping[str, Any]) -> Item:
        """The reply to a request, and what changes before the next one."""
        self.shows.append(self.now)
        change = self.changes[number] if number < len(self.changes) else "nothing"
        wanted = _WANTED[number % RUN]
        before = self.now
        self.now = _changed(before, change)
        self._write()
        steer = STEERED if number == STEER else ""
        done = self._move(before.mode, steer)
        asyncio.run_coroutine_threadsafe(done, self._loop).result(PATIENCE_S)
        if self.now.days != before.days:
            self.clock.move(DAY.total_seconds())
        if not wanted:
            return Say(f"Done {number}.", thinking=f"That is all of {number}.")
        if (stage := self.now.stage) != before.stage:
            plan = {"items": [{"text": f"stage {stage}", "state": "doing"}]}
            file = {"path": f"stage-{stage}.txt", "text": f"{stage}\n"}
            wanted = [("plan-write", plan), ("fs-write", file), *wanted]
        thinking = f"What {number} needs. " if thinks(number) else ""
        return calls(*wanted, text="" if number % 2 else f"Step {number}.", thinking=thinking)

    async def _move(self, mode: str, steer: str) -> None:
        """Tells the worker what the person does while it waits for a reply."""
        seen = len(self._rig.events)
        wanted: list[type[up.UpEvent]] = []
        if self.now.mode != mode:
            self._rig.tell(commands.SetMode(mode=self.now.mode))
            wanted.append(up.ModeChanged)
        if steer:
            self._rig.tell(commands.Send(text=steer, steer=True))
            wanted.append(up.Queued)
        async with asyncio.timeout(PATIENCE_S):
            while {*wanted} - {type(event) for event in self._rig.events[seen:]}:
                await asyncio.sleep(0.001)

    def _write(self) -> None:
        """What lies on the disk: memory and the skill."""
        folder = self._rig.workspace / ".nodwyn" / "memory"
        folder.mkdir(parents=True, exist_ok=True)
        facts = folder / "facts.md"
        text = f"- the steps are {self.now.facts}\n- a pond has fish\n"
        if not facts.exists() or facts.read_text() != text:
            facts.write_text(text)
        shelf = self._rig.workspace / ".agents" / "skills"
        put(shelf, "counting", f"Body {self.now.skill}.\n", "Counts")


LS = ("shell", {"command": "ls"})
SEQ = ("shell", {"command": "seq 30"})
_WANTED: Sequence[Sequence[tuple[str, Any]]] = ([LS, SEQ], [SEQ], [LS], [])
"""The calls of each reply of a run."""


def thinks(number: int) -> bool:
    """Whether the model thinks before that reply."""
    return number % RUN != 2


def _changed(now: Now, change: Change) -> Now:
    every = change == "all"
    if every or change == "recall":
        now = replace(now, facts=now.facts + 1)
    if every or change == "state":
        now = replace(now, stage=now.stage + 1)
    if every or change == "date":
        now = replace(now, days=now.days + 1)
    if every or change == "skill":
        now = replace(now, skill=now.skill + 1)
    if every or change == "mode":
        now = replace(now, mode="edits" if now.mode == "ask" else "ask")
    return now
