"""What holds in every generated session (REL-4), for the kinds of events this build writes."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from nodwyn_tui.domain import events as ev
from nodwyn_tui.domain.canonical import message_value, request_bytes
from nodwyn_tui.domain.parts import Block, Call, Text, Thinking
from nodwyn_tui.domain.request import AssistantRow, ToolRow, UserRow
from nodwyn_tui.window import contexts
from nodwyn_tui.window.build import Window, build
from nodwyn_tui.window.entries import BYTES_PER_TOKEN
from nodwyn_tui.window.replay import replay
from tests.builders import LogBuilder, recipe

DECLARED = (
    ev.WindowReset, ev.WindowEdit, ev.WindowRewind, ev.ResultFold, ev.SummaryAdd, ev.SummaryRevoke,
    ev.ContextOpen, ev.ContextClose, ev.SessionResume,
)  # fmt: skip
"""What may change what was sent; between them requests only grow."""

SIZES = st.sampled_from([0, 3, 60, 400, 1_500, 6_000])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("user"), SIZES),
        st.tuples(st.just("steer"), SIZES),
        st.tuples(st.just("reply"), SIZES),
        st.tuples(st.just("think"), SIZES),
        st.tuples(st.just("interrupt"), SIZES),
        st.tuples(st.just("call"), SIZES),
        st.tuples(st.just("read"), SIZES),
        st.tuples(st.just("calls"), st.permutations([0, 1, 2])),
        st.tuples(st.just("open call"), SIZES),
        st.tuples(st.just("plan"), SIZES),
        st.tuples(st.just("note"), SIZES),
        st.tuples(st.just("clear"), SIZES),
        st.tuples(st.just("orphan"), SIZES),
        st.tuples(st.just("block"), SIZES),
        st.tuples(st.just("image"), SIZES),
        st.tuples(st.just("fold"), SIZES),
        st.tuples(st.just("drop"), st.integers(0, 10)),
        st.tuples(st.just("restore"), st.integers(0, 10)),
        st.tuples(st.just("rewind"), st.integers(0, 10)),
        st.tuples(st.just("summary"), st.integers(0, 10)),
        st.tuples(st.just("revoke"), SIZES),
        st.tuples(st.just("compact"), SIZES),
        st.tuples(st.just("widen"), SIZES),
        st.tuples(st.just("sub-context"), SIZES),
        st.tuples(st.just("resume"), st.sampled_from([300, 400])),
    ),
    max_size=40,
)


def text(size: int) -> str:
    return "".join(f"{n} é\n" if n % 7 == 0 else f"{n} " for n in range(size // 4))


class Session(LogBuilder):
    """A session that does what a list of steps says, asking before each reply."""

    def __init__(self) -> None:
        super().__init__()
        self.windows: list[tuple[ev.LlmRequest, Window]] = []
        self.calls = 0
        self.lasting: list[ev.ContextOpen] = []

    def do(self, step: tuple[str, Any]) -> None:
        kind, value = step
        match kind:
            case "user" | "steer":
                self.user(text(value), via="prompt" if kind == "user" else "steer")
            case "plan":
                self.add(ev.GatePlan(text=text(value)))
            case "note":
                self.add(ev.Note(text=text(value), audience="model"))
            case "clear":
                self.add(ev.WindowReset(kind="manual", reason="clear"))
                self.user("after")
            case "orphan":
                self.result("nobody", text(value))
            case "fold" | "drop" | "restore" | "rewind" | "summary" | "revoke" | "image" | "resume":
                self.edit(kind, value)
            case "compact" | "widen" | "sub-context":
                self.move(kind, value)
            case _:
                self.windows.append(self.request())
                self.answer(kind, value)

    def of(self, kind: type[Any]) -> list[Any]:
        return [e for e in self.events if isinstance(e, kind) and e.ctx == self.ctx]

    def edit(self, kind: str, value: Any) -> None:
        """Changes what later windows show of earlier events."""
        results, users = self.of(ev.ToolResult), self.of(ev.UserMessage)
        rows = results + self.of(ev.LlmResponse) + users
        match kind:
            case "image":
                self.image(tokens=value)
            case "fold" if results:
                self.fold(results[-1].seq, text(value))
            case "drop" | "restore" if rows:
                self.add(ev.WindowEdit(target=rows[value % len(rows)].seq, action=kind))
            case "rewind" if users:
                self.add(ev.WindowRewind(to=users[value % len(users)].seq, why="edit"))
                self.user("said again")
            case "summary" if len(users) > 3:
                first = value % (len(users) - 3)
                self.summary(users[first].seq, users[first + 1].seq - 1)
            case "revoke" if summaries := self.of(ev.SummaryAdd):
                self.add(ev.SummaryRevoke(target=summaries[-1].seq))
            case "resume":
                self.recipe = recipe(max_result_tokens=value)
                start = {"session": "s", "workspace": "/w", "app": "t"}
                self.add(ev.SessionResume(**start, recipe=self.recipe))

    def move(self, kind: str, value: Any) -> None:
        """Goes on in another context, or comes back."""
        match kind:
            case "compact":
                self.lasting.append(self.compact(text(value) or "note"))
            case "widen" if self.lasting and self.lasting[-1].id == self.ctx:
                spoken = any(e.ctx == self.ctx for e in self.of(ev.UserMessage))
                if not spoken:
                    self.widen(self.lasting.pop())
            case "sub-context":
                parent, self.ctx = self.ctx, len(self.events) + 1
                self.add(ev.ContextOpen(id=self.ctx, parent=parent, kind="task", ctx=self.ctx))
                self.user(text(value))
                self.reply(text(value))
                self.add(ev.ContextClose(id=self.ctx, report="done"))
                self.ctx = parent

    def answer(self, kind: str, value: Any) -> None:
        self.calls += 1
        name = f"call{self.calls}"
        match kind:
            case "reply":
                self.reply(text(value))
            case "think":
                self.reply(Thinking(text(value)))
            case "block":
                self.reply(Block("thinking", "o", f"sig {self.calls}"), text(value))
            case "interrupt":
                self.reply(text(value), Call(name, "shell", '{"cut'), finish="interrupted")
            case "call":
                self.reply(Call(name, "shell", "{}"))
                self.result(name, text(value))
            case "read":
                self.reply(Call(name, "fs-read", '{"path":"a"}'))
                self.result(name, text(value), name="fs-read")
            case "open call":
                self.reply(Call(name, "shell", "{}"))
            case "calls":
                self.reply(text(40), *(Call(f"{name}.{n}", "shell", "{}") for n in range(3)))
                for n in value:
                    self.result(f"{name}.{n}", text(400 * (n + 1)))


def played(steps: list[tuple[str, Any]]) -> Session:
    session = Session()
    session.user("begin")
    for step in steps:
        session.do(step)
    session.windows.append(session.request())
    return session


@settings(max_examples=150, deadline=None)
@given(STEPS)
def test_no_request_has_an_orphan_or_an_unanswered_call(steps: list[tuple[str, Any]]) -> None:
    """ENG-16: results follow their reply directly, in the order of its calls, each once."""
    for _, window in played(steps).windows:
        due: list[str] = []
        for row in window.request.messages:
            if isinstance(row, ToolRow):
                assert due
                assert row.call_id == due.pop(0)
                continue
            assert due == []
            if isinstance(row, AssistantRow):
                due = [part.id for part in row.parts if isinstance(part, Call)]
        assert due == []


@settings(max_examples=150, deadline=None)
@given(STEPS)
def test_no_part_is_blank_and_the_person_speaks_first(steps: list[tuple[str, Any]]) -> None:
    """C11, C17."""
    for _, window in played(steps).windows:
        for row in window.request.messages:
            assert row.parts
            assert all(part.text.strip() for part in row.parts if isinstance(part, Text))
        # A summary may stand first; translators put a short line of the person before it.
        first = window.entries[0]
        assert isinstance(first.message, UserRow) or first.kind == "summary"


@settings(max_examples=150, deadline=None)
@given(STEPS)
def test_prefix_is_stable_between_declared_events(steps: list[tuple[str, Any]]) -> None:
    """Each request is the one before with messages appended, but for a trim, a clear, or an
    unanswered call whose result came late."""
    session = played(steps)
    for (was, before), (now, after) in zip(session.windows, session.windows[1:], strict=False):
        between = session.events[was.seq : now.seq - 1]
        if now.elided or any(isinstance(event, DECLARED) for event in between):
            continue
        kept = before.request.messages
        assert after.request.messages[: len(kept)] == kept
        assert (after.request.system, after.request.tools) == (
            before.request.system,
            before.request.tools,
        )


@settings(max_examples=100, deadline=None)
@given(STEPS)
def test_every_request_replays(steps: list[tuple[str, Any]]) -> None:
    """ENG-26."""
    session = played(steps)
    for request, window in session.windows:
        assert request_bytes(replay(session.events, request.seq).request) == request_bytes(
            window.request
        )


@settings(max_examples=100, deadline=None)
@given(STEPS)
def test_window_from_its_start_equals_the_window_from_all(steps: list[tuple[str, Any]]) -> None:
    """ENG-23."""
    session = played(steps)
    tracker = contexts.StartTracker()
    for seq, event in enumerate(session.events, 1):
        tracker.feed(event)
        events = session.events[:seq]
        kept = [earlier for earlier in events if earlier.seq >= tracker.keep]
        from_start = build(kept, session.recipe, at=tracker.place)
        assert from_start == build(events, session.recipe)


@settings(max_examples=150, deadline=None)
@given(STEPS)
def test_estimate_is_never_below_a_third_of_the_bytes(steps: list[tuple[str, Any]]) -> None:
    """ENG-13."""
    for _, window in played(steps).windows:
        size = sum(
            len(json.dumps(message_value(row), ensure_ascii=False, separators=(",", ":")).encode())
            for row in window.request.messages
        )
        assert (window.estimate - window.fixed) * BYTES_PER_TOKEN >= size


@settings(max_examples=150, deadline=None)
@given(STEPS)
def test_trim_reaches_low_water_or_leaves_nothing_that_may_go(
    steps: list[tuple[str, Any]],
) -> None:
    """ENG-14."""
    session = played(steps)
    limits = session.recipe.window
    for _, window in session.windows:
        if window.estimate <= limits.high_water:
            continue
        recent = window.entries[-limits.protected :]
        safe = {entry.seq for entry in recent} | {entry.batch for entry in recent}
        for entry in window.entries:
            free = entry.kind in ("result", "assistant") and entry.state != "elided"
            if free and entry.whole and entry.seq not in safe:
                assert entry.tokens <= len(f"[elided seq={entry.seq}]") + 40
