"""Sessions made up by chance: every kind of line this build writes, in any order that a session may
write it.
"""

from collections.abc import Sequence
from typing import Any, get_args

from hypothesis import settings
from hypothesis import strategies as st

from nodwyn_tui.domain import events as ev
from nodwyn_tui.domain.parts import Block, Call, Thinking
from nodwyn_tui.domain.recipe import KeepReasoning
from nodwyn_tui.window import handover, lead_in, order
from nodwyn_tui.window.budget import Warn
from nodwyn_tui.window.build import ORDINARY, Shape, Window
from nodwyn_tui.window.policy import ADDED
from tests.builders import AnyEvent, LogBuilder

Step = tuple[str, Any]

EACH_REQUEST = settings(deadline=None)
"""For a test that looks at each request of a session: as many sessions as the profile says. How
long one takes says nothing on a busy machine.
"""
EACH_EVENT = settings(deadline=None, max_examples=max(settings.default.max_examples // 4, 1))
"""For a test that builds a window after each event."""

SIZES = st.sampled_from([0, 3, 60, 400, 1_500, 6_000])
ANY = st.integers(0, 10)

SAID = ("user", "user", "user", "steer", "plan", "note", "warning", "image", "orphan", "late")
TALKED = ("reply", "think", "interrupt", "open call")
CALLED = ("block", "block", "call", "read", "look", "reused")
CHANGED = (
    "fold", "drop", "restore", "rewind", "summary", "summary", "revoke", "resume", "switch",
    "clear", "rollover",
)  # fmt: skip
MOVED = ("compact", "widen", "sub-context", "handover", "handover")
SHAPED = ("withhold", "headroom", "force", "no tools")
FRESH = ("placed", "says", "says")
ASIDE: tuple[ev.Event, ...] = (
    ev.SessionRecovered(missing=(), bytes=7),
    ev.SessionTitle(title="A title"),
    ev.SessionEnd(why="closed"),
    ev.Note(text="for the person"),
    ev.UserMessage(text="too long", rejected=True),
    ev.UserQueued(text="later"),
    ev.AttachConfirm(sha256="image 3", host="h"),
    ev.LlmError(req=1, kind="overloaded", message="busy", partial="half"),
    ev.Approval(call_id="call1", decision="allowed", scope="once"),
    ev.ModeChange(mode="edits"),
    ev.JobStart(id="j", command="sleep 9"),
    ev.JobEnd(id="j", exit=0),
    ev.SkillUse(name="s", digest="ef"),
    ev.Recall(matched=0, known=3, cap=9),
    ev.BudgetBlocked(reason="too long"),
    ev.RunEnd(why="done"),
    ev.UnknownEvent(kind="future", raw={"type": "future"}),
)
"""Lines that no window holds."""

_STEP: st.SearchStrategy[Step] = st.one_of(
    st.tuples(st.sampled_from(SAID), SIZES),
    st.tuples(st.sampled_from(TALKED), SIZES),
    st.tuples(st.sampled_from(CALLED), SIZES),
    st.tuples(st.just("calls"), st.permutations([0, 1, 2])),
    st.tuples(st.sampled_from(CHANGED + MOVED), ANY),
    st.tuples(st.sampled_from(CHANGED), ANY),
    st.tuples(st.sampled_from(SHAPED), ANY),
    st.tuples(st.sampled_from(FRESH), ANY),
    st.tuples(st.just("aside"), st.integers(0, len(ASIDE) - 1)),
)
STEPS: st.SearchStrategy[list[Step]] = st.one_of(
    st.lists(_STEP, max_size=12), st.lists(_STEP, min_size=12, max_size=40)
)
"""Short ones, to which a failure shrinks, and long ones, in which lines of different kinds meet."""

VERSIONS = st.sampled_from(list(ADDED))
KEEPS: st.SearchStrategy[KeepReasoning] = st.sampled_from([True, "latest", False])
PAIRED = st.sampled_from([version for version in ADDED if version >= 16])
"""Recipes whose requests never part a call from its result."""

DECLARED = (
    ev.WindowReset, ev.WindowEdit, ev.WindowRewind, ev.ResultFold, ev.SummaryAdd, ev.SummaryRevoke,
    ev.ContextOpen, ev.ContextClose, ev.SessionResume, ev.SessionRecipe,
)  # fmt: skip
"""What may change what was sent; between them requests only grow."""


def text(size: int) -> str:
    return "".join(f"{n} é\n" if n % 7 == 0 else f"{n} " for n in range(size // 4))


class Session(LogBuilder):
    """A session that does what a list of steps says, asking before each reply.

    `windows` holds each request of the conversation with its window; `late` is set once a result
    came after a request that had shown its call unanswered, which no real session does;
    `taken_back` are the windows before and after a handover note was asked for in vain. `says` is
    what fresh context says by kind, `placement` where it stands.
    """

    def __init__(self, version: int = 20, keep: KeepReasoning = True) -> None:
        self.freshness = order.Freshness()
        self.placement: order.Placement = "off"
        self.says: dict[order.FreshKind, str] = {}
        super().__init__(version=version, keep_reasoning=keep)
        self.keep = keep
        self.windows: list[tuple[ev.LlmRequest, Window]] = []
        self.calls = 0
        self.open: list[str] = []
        self.late = False
        self.lasting: list[ev.ContextOpen] = []
        self.withheld: dict[str, str] = {}
        self.taken_back: list[tuple[Window, Window]] = []

    def do(self, step: Step) -> None:
        kind, value = step
        if kind in SAID:
            self.say(kind, value)
        elif kind in CHANGED:
            self.change(kind, value)
        elif kind in MOVED:
            self.move(kind, value)
        elif kind in SHAPED:
            self.shape(kind, value)
        elif kind == "placed":
            self.placement = get_args(order.Placement)[value % 4]
        elif kind == "says":
            self.says[order.KINDS[value % 5]] = text(value * 30)
        elif kind == "aside":
            self.add(ASIDE[value])
        else:
            self.calls += 1
            self.ask()
            if kind in TALKED:
                self.talk(kind, value, f"call{self.calls}")
            else:
                self.call(kind, value, f"call{self.calls}")

    def ask(self, shape: Shape = ORDINARY, purpose: ev.Purpose = "turn") -> None:
        own = Shape(
            no_tools=shape.no_tools,
            high_water=shape.high_water,
            withheld=dict(self.withheld),
            fresh=self.freshened() if purpose == "turn" else (),
        )
        self.windows.append(self.request(own, purpose))

    def freshened(self) -> tuple[int, ...]:
        """Records the fresh context that is due, and gives what the request shows by itself."""
        if self.recipe.version < 20:
            return ()
        now = [
            order.FreshRow(kind=kind, trust="data", text=said, gone=f"no {kind}")
            for kind, said in self.says.items()
        ]
        begins = isinstance(self.events[-1], ev.UserMessage)
        due = self.freshness.due(now, self.placement, run_starts=begins)
        return due.shown([self.add(row) for row in due.record])

    def add(self, draft: AnyEvent) -> AnyEvent:
        event = super().add(draft)
        self.freshness.feed(event)
        return event

    def of(self, kind: type[Any]) -> list[Any]:
        return [e for e in self.events if isinstance(e, kind) and e.ctx == self.ctx]

    def say(self, kind: str, value: int) -> None:
        match kind:
            case "user" | "steer":
                self.user(text(value), via="prompt" if kind == "user" else "steer")
            case "plan":
                self.add(ev.GatePlan(text=text(value)))
            case "note":
                self.add(ev.Note(text=text(value), audience="model"))
            case "warning":
                warned = lead_in.warning(Warn(2_000, 3_000), notes=bool(value))
                if not self.budget.fault((warned,)):
                    self.add(warned)
            case "image":
                self.image(f"image {value}", tokens=value)
            case "orphan":
                self.result("nobody", text(value))
            case "late" if self.open:
                self.late = True
                self.result(self.open.pop(), text(value))

    def change(self, kind: str, value: int) -> None:
        """Changes what later windows show of earlier events."""
        results, users = self.of(ev.ToolResult), self.of(ev.UserMessage)
        rows = results + self.of(ev.LlmResponse) + users + self.of(ev.AttachImage)
        rows += self.of(ev.GatePlan) + self.of(ev.Note)
        rows += self.of(ev.WindowLeadIn) + self.of(ev.BudgetWarning)
        match kind:
            case "fold" if results:
                self.fold(results[value % len(results)].seq, text(value * 40))
            case "drop" if rows:
                self.edit(rows[value % len(rows)].seq, "drop")
            case "restore":
                self.restore(value)
            case "rewind":
                self.take_back(value)
            case "summary" if len(users) > 3:
                first = value % (len(users) - 3)
                self.summary(users[first].seq, users[first + 1].seq - 1)
            case "revoke" if summaries := self.of(ev.SummaryAdd):
                self.add(ev.SummaryRevoke(target=summaries[-1].seq))
            case "resume":
                version = 20 if value > 6 else self.recipe.version
                cap = 300 + 100 * (value % 2)
                self.resume(max_result_tokens=cap, version=version, keep_reasoning=self.keep)
            case "switch":
                cap, version = 200 + 200 * (value % 3), self.recipe.version
                self.switch(max_result_tokens=cap, version=version, keep_reasoning=self.keep)
            case "clear" | "rollover" if self.recipe.version >= 20:
                self.begin_anew(kind, value)

    def begin_anew(self, kind: str, value: int) -> None:
        """Leaves the window for one that the person speaks in."""
        if kind == "rollover":
            self.rolled(value)
        else:
            self.lasting.clear()
            self.clear()
        self.user("after", via="continue" if value % 2 else "prompt")

    def rolled(self, value: int) -> None:
        """A rollover's rows before its input; at times only what a lost power left of them."""
        drafts = self.rollover(reason="mid-run" if value % 2 else "on-send")
        if not self.budget.fault(drafts):
            self.lasting.clear()
            reset, lead, *_ = drafts
            for row in (reset, lead) if value else (reset,):
                self.add(row)

    def restore(self, value: int) -> None:
        told = [*self.of(ev.WindowEdit), *self.of(ev.ResultFold)]
        gone = sorted(self.window().elided | {event.target for event in told})
        if gone:
            self.edit(gone[value % len(gone)], "restore")

    def take_back(self, value: int) -> None:
        """Rewinds to a message of the person, leaving a compaction that came after it."""
        floor = self.lasting[-1].parent if self.lasting and not self.spoken() else self.ctx
        users = [e for e in self.events if isinstance(e, ev.UserMessage) and e.ctx == floor]
        starts = [e.seq for e in self.events if isinstance(e, ev.WindowReset | ev.ContextOpen)]
        users = [e for e in users if floor != self.ctx or e.seq > max(starts, default=0)]
        if not users:
            return
        to = users[value % len(users)].seq
        self.rewind(to)
        if self.lasting and self.lasting[-1].seq >= to:
            self.ctx = self.lasting.pop().parent
        self.user("said again")

    def spoken(self) -> bool:
        """Whether the person spoke in the lasting context that is open."""
        return any(e.ctx == self.ctx for e in self.events if isinstance(e, ev.UserMessage))

    def move(self, kind: str, value: int) -> None:
        """Goes on in another context, or comes back."""
        match kind:
            case "compact":
                self.lasting.append(self.compact(text(value * 40) or "note"))
            case "widen" if self.lasting and not self.spoken():
                self.widen(self.lasting.pop())
            case "handover":
                self.note_asked(value)
            case "sub-context":
                parent, self.ctx = self.ctx, len(self.events) + 1
                self.add(ev.ContextOpen(id=self.ctx, parent=parent, kind="task", ctx=self.ctx))
                self.user(text(value * 40))
                self.reply(text(value * 40))
                self.add(ev.ContextClose(id=self.ctx, report="done"))
                self.ctx = parent

    def note_asked(self, value: int) -> None:
        """Asks for a handover note, with headroom or trimmed hard; it is taken, or taken back."""
        before = self.window()
        asked = self.add(handover.request(self.recipe, self.carrying.now))
        self.ask(Shape(high_water=3_000 if value % 2 else 600), "handover")
        self.reply(text(value * 40) or "note", finish="interrupted" if value > 8 else None)
        if value % 3:
            self.lasting.append(self.hand_over(text(value * 40) or "note"))
        else:
            self.rewind(asked.seq, "undo")
            self.taken_back.append((before, self.window()))

    def shape(self, kind: str, value: int) -> None:
        """A request that departs from the session's rule."""
        match kind:
            case "withhold":
                images = [image.sha256 for image in self.of(ev.AttachImage)]
                name = ["seen", *images][value % (len(images) + 1)]
                if self.withheld.pop(name, None) != "changed":
                    self.withheld[name] = ("missing", "changed", "refused")[value % 3]
            case "headroom":
                self.ask(Shape(high_water=3_000))
                self.reply("with room")
            case "force":
                self.ask(Shape(high_water=200 + value * 100))
                self.reply("with less")
            case "no tools":
                self.ask(Shape(no_tools=True))
                self.reply("without tools")

    def talk(self, kind: str, value: int, name: str) -> None:
        """Answers, or calls without an end."""
        match kind:
            case "reply":
                self.reply(text(value))
            case "think":
                self.reply(Thinking(text(value)))
            case "interrupt":
                self.reply(text(value), Call(name, "shell", '{"cut'), finish="interrupted")
            case "open call":
                self.open.append(name)
                self.reply(Call(name, "shell", "{}"))

    def call(self, kind: str, value: Any, name: str) -> None:
        """Calls, and gets the results."""
        match kind:
            case "block":
                self.reply(Block("thinking", "o", f"sig {name}"), Call(name, "shell", "{}"))
                self.result(name, text(value))
            case "call":
                self.reply(Call(name, "shell", "{}"))
                self.result(name, text(value))
            case "read":
                self.reply(Call(name, "fs-read", '{"path":"a"}'))
                self.result(name, text(value), name="fs-read")
            case "look":
                self.reply(Call(name, "fs-read", '{"path":"a.png"}'))
                seen = ev.ImageRef(sha256="seen", mime="image/png", width=5, height=5, tokens=value)
                self.result(name, "a.png", name="fs-read", images=(seen,))
            case "reused":
                self.reply(Call("again", "shell", "{}"))
                self.result("again", text(value))
            case "calls":
                self.reply(text(40), *(Call(f"{name}.{n}", "shell", "{}") for n in range(3)))
                for n in value:
                    self.result(f"{name}.{n}", text(400 * (n + 1)))


def played(steps: Sequence[Step], version: int = 20, keep: KeepReasoning = True) -> Session:
    """The session after `steps`, with a request at its end."""
    session = Session(version, keep)
    session.user("begin")
    for step in steps:
        session.do(step)
    session.ask()
    return session


def bare(window: Window) -> Window:
    """A window without the fresh rows that stand in its request alone."""
    return window.bare or window


def protected(window: Window, count: int) -> set[int | None]:
    """The seqs that no trim takes: of the latest entries and their replies, and of fresh rows that
    none of their kind made out of date (ENG-14, ORD-9).
    """
    counted = [entry for entry in window.entries if entry.kind != "fresh"]
    recent = counted[-count:] if count else []
    latest = {e.label: e.seq for e in bare(window).entries if e.kind == "fresh"}
    own = {entry.seq for entry in window.entries} - {entry.seq for entry in bare(window).entries}
    return {e.seq for e in recent} | {e.batch for e in recent} | {*latest.values()} | own
