"""Where fresh context stands in a request, and which rows are due (ORD-1 to ORD-5, ORD-9)."""

from collections.abc import Sequence
from itertools import pairwise

import pytest

from nodwyn_tui.domain import events as ev
from nodwyn_tui.domain.parts import Block, Call
from nodwyn_tui.window.build import Shape, Window, build
from nodwyn_tui.window.order import Freshness, FreshRow, Placement, placement_for
from nodwyn_tui.window.replay import replay
from nodwyn_tui.window.rolling import Rolling
from nodwyn_tui.window.sequence import EACH_REQUEST
from tests.builders import LogBuilder, texts


class Session(LogBuilder):
    """A session whose requests carry fresh context, and the window that grows beside it."""

    def __init__(self, placement: Placement, **changes: object) -> None:
        self.placement: Placement = placement
        self.freshness, self.rolling = Freshness(), Rolling()
        self.now: dict[str, FreshRow] = {}
        self.fed = 0
        super().__init__(task_header="", **changes)

    def says(self, kind: str, text: str) -> None:
        self.now[kind] = FreshRow(kind=kind, trust="data", text=text, gone=f"no {kind}")  # type: ignore[arg-type]

    def ask(self, *, run_starts: bool = False) -> Window:
        self.follow()
        due = self.freshness.due([*self.now.values()], self.placement, run_starts=run_starts)
        shape = Shape(fresh=due.shown([self.add(row) for row in due.record]))
        self.follow()
        grown = self.rolling.window(self.recipe, shape)
        request, scratch = self.request(shape)
        self.follow()
        assert grown == scratch
        assert grown.digest == scratch.digest
        assert replay(self.events, request.seq).digest == request.digest
        return scratch

    def follow(self) -> None:
        for event in self.events[self.fed :]:
            self.freshness.feed(event)
            self.rolling.feed(event)
        self.fed = len(self.events)

    def step(self, name: str, text: str = "out", *, block: bool = False) -> Window:
        window = self.ask()
        parts = [Block("thinking", "o", f"sig {name}")] if block else []
        self.reply(*parts, Call(name, "shell", "{}"))
        self.result(name, text)
        return window


def said(window: Window) -> Sequence[str]:
    return texts(window)


def test_rows_of_a_request_stand_before_what_was_said_last_and_are_gone_with_it() -> None:
    """ORD-1, ORD-3, ORD-5: in the order of their kinds, whatever order they came in."""
    session = Session(EACH_REQUEST)
    session.says("recall", "facts")
    session.says("working_state", "plan 1")
    session.user("go")
    assert said(session.step("a")) == ["user: plan 1", "user: facts", "user: go"]
    session.says("working_state", "plan 2")
    session.user("and this", via="steer")
    done = ["user: go", "assistant: shell(a)", "tool: out"]
    window = session.ask()
    assert said(window) == [*done, "user: plan 2", "user: facts", "user: and this"]
    assert (window.former, window.history) == (0, len(done))
    session.reply("ok")
    session.user("next")
    window = session.ask()
    assert (window.former, window.history) == (len(done), len(done) + 2)
    assert said(window) == [
        *done, "user: and this", "assistant: ok", "user: plan 2", "user: facts", "user: next",
    ]  # fmt: skip


def test_a_plan_of_a_batch_is_history() -> None:
    """ORD-1: right after the batch, before fresh rows."""
    session = Session(EACH_REQUEST, plan_header="")
    session.says("recall", "facts")
    session.user("go")
    session.ask()
    session.reply(Call("a", "shell", "{}"))
    session.add(ev.GatePlan(text="1. look"))
    session.result("a")
    assert said(session.ask())[-3:] == ["tool: done", "user: 1. look", "user: facts"]


def test_same_text_is_recorded_once_a_window() -> None:
    """ORD-5: a request refers to the earlier event; a new window says it again."""
    session = Session(EACH_REQUEST)
    session.says("runtime", "2026-01-01")
    session.user("go")
    session.step("a")
    session.step("b")
    session.says("runtime", "2026-01-02")
    session.step("c")
    session.says("runtime", "2026-01-01")
    session.step("d")
    rows = [e for e in session.events if isinstance(e, ev.FreshContext)]
    assert [row.text for row in rows] == ["2026-01-01", "2026-01-02"]
    session.clear()
    session.user("anew")
    assert said(session.ask()) == ["user: 2026-01-01", "user: anew"]
    rows = [e for e in session.events if isinstance(e, ev.FreshContext)]
    assert [row.text for row in rows] == ["2026-01-01", "2026-01-02", "2026-01-01"]


def test_a_kind_that_changed_becomes_a_row_that_stays() -> None:
    """ORD-9: nothing is taken out; the new row names the one it supersedes."""
    session = Session("on_change")
    session.says("working_state", "plan 1")
    session.says("corrections", "use pnpm")
    session.user("go")
    first = said(session.step("a"))
    assert first == ["user: plan 1", "user: use pnpm", "user: go"]
    session.says("working_state", "plan 2")
    assert said(session.step("b")) == [*first, "assistant: shell(a)", "tool: out", "user: plan 2"]
    rows = [e for e in session.events if isinstance(e, ev.FreshContext)]
    assert [row.supersedes for row in rows] == [None, None, rows[0].seq]
    session.says("working_state", "")
    assert said(session.ask())[-1] == "user: no working_state"


def test_the_same_facts_in_another_order_are_no_change() -> None:
    """ORD-9: another question ranks them otherwise; a row for that would stay for good."""
    session = Session("on_change")
    session.says("recall", "facts\n- a\n- b")
    session.says("working_state", "plan\n- a\n- b")
    session.user("go")
    session.ask()
    session.reply("ok")
    session.says("recall", "facts\n- b\n- a")
    session.says("working_state", "plan\n- b\n- a")
    session.user("next")
    assert said(session.ask())[-2:] == ["user: plan\n- b\n- a", "user: next"]
    session.reply("ok")
    session.says("recall", "facts\n- b")
    session.user("last")
    assert said(session.ask())[-2:] == ["user: facts\n- b", "user: last"]


def test_a_row_is_not_said_to_be_gone_that_never_stood() -> None:
    session = Session("on_change")
    session.says("recall", "")
    session.user("go")
    assert said(session.ask()) == ["user: go"]


def test_rows_that_go_outdate_what_an_earlier_placement_left() -> None:
    """ORD-8, ORD-9: where a model has another placement, its row still stands in the window."""
    session = Session("on_change")
    session.says("corrections", "use pnpm")
    session.says("recall", "")
    session.user("go")
    session.ask()
    session.reply("ok")
    session.placement = EACH_REQUEST
    session.says("corrections", "")
    session.user("next")
    assert said(session.ask())[-2:] == ["user: no corrections", "user: next"]
    session.clear()
    session.user("anew")
    assert said(session.ask()) == ["user: anew"]


def test_run_start_waits_for_a_run() -> None:
    """ORD-9: on a local model each row in mid-run would cost the prefix."""
    session = Session("run_start")
    session.says("runtime", "a")
    session.user("go")
    assert said(session.ask(run_starts=True)) == ["user: a", "user: go"]
    session.reply("ok")
    session.says("runtime", "b")
    session.user("steer", via="steer")
    assert "user: b" not in said(session.ask())
    session.reply("ok")
    session.user("next")
    assert said(session.ask(run_starts=True))[-2:] == ["user: b", "user: next"]


def test_off_sends_nothing() -> None:
    session = Session("off")
    session.says("runtime", "a")
    session.user("go")
    assert said(session.ask(run_starts=True)) == ["user: go"]


def test_rewound_row_is_due_again() -> None:
    """A row that left the window with what it was said for is said again."""
    session = Session("on_change")
    session.user("go")
    session.ask()
    session.reply("ok")
    again = session.user("more")
    session.says("recall", "facts")
    session.ask()
    session.rewind(again.seq)
    session.user("other")
    assert said(session.ask())[-2:] == ["user: facts", "user: other"]
    assert said(session.window()).count("user: facts") == 1


@pytest.mark.parametrize("block", [False, True])
@pytest.mark.parametrize("kind", ["recall", "working_state", "runtime", "skills"])
@pytest.mark.parametrize("carried", [False, True])
def test_prefix_grows_with_every_exchange_whatever_changes(
    kind: str, *, block: bool, carried: bool
) -> None:
    """ORD-8: each request repeats the former one up to its history marker, and the marker moves on
    past each completed exchange; the window grows at the cost of what is new (ENG-27).
    """
    session = Session(EACH_REQUEST, high_water=90_000)
    if carried:
        session.user("earlier")
        session.ask()
        session.reply("answered")
    session.says("corrections", "use pnpm")
    session.user("go")
    windows = []
    for n in range(8):
        session.says(kind, f"{kind} {n}")
        windows.append(session.step(f"call{n}", f"section {n}\n" * 200, block=block))
    for before, after in pairwise(windows):
        assert before.history is not None
        assert after.history is not None
        assert after.request.messages[: before.history] == before.request.messages[: before.history]
        assert after.trail[: before.history + 2] == before.trail[: before.history + 2]
        assert after.history > before.history
        assert after.former == before.history
        assert [e.label for e in after.entries if e.kind == "fresh"].count(kind) == 1
    assert session.rolling.rebuilt <= 2  # the first request, and the last window of a carried one


def test_a_trim_counts_fresh_rows_and_takes_only_what_is_out_of_date() -> None:
    """ENG-14, ORD-9: a superseded row may go; the latest of its kind never does."""
    session = Session("on_change", high_water=1_500, low_water=300, protected=2)
    session.user("go")
    for n in range(6):
        session.says("working_state", f"state {n} " * 60)
        session.step(f"c{n}")
    shown = [entry for entry in session.ask().entries if entry.kind == "fresh"]
    assert [entry.state for entry in shown][-1] == "in"
    assert "elided" in [entry.state for entry in shown]
    assert "state 5" in texts(session.window())[-3]

    own = Session(EACH_REQUEST, high_water=1_500, low_water=300, protected=2)
    own.user("go")
    own.step("a", "long " * 400)
    own.step("b", "short")
    own.step("c", "short")
    assert own.window().newly == ()
    own.says("recall", "fact " * 800)
    window = own.ask()
    assert window.newly
    assert build(own.events[:-1], own.recipe).newly == ()


@pytest.mark.parametrize(
    ("provider", "breakpoints", "keeps", "placement"),
    [
        ("ollama", False, False, "run_start"),
        ("openai", False, False, "each_request"),
        ("openai", True, False, "each_request"),
        ("openai vllm", False, False, "each_request"),
        ("openai llamacpp", False, False, "run_start"),
        ("responses", False, False, "on_change"),
        ("responses", False, True, "on_change"),
        ("responses", True, True, "on_change"),
        ("responses", True, False, "each_request"),
        ("anthropic", True, True, "on_change"),
        ("anthropic", True, False, "each_request"),
        ("anthropic", False, False, "on_change"),
    ],
)
def test_auto_goes_by_what_cache_and_reasoning_allow(
    provider: str, breakpoints: bool, keeps: bool, placement: Placement
) -> None:
    """ORD-9: and says why in a few words."""
    provider, _, dialect = provider.partition(" ")
    choice = placement_for(
        provider, breakpoints=breakpoints, keeps_reasoning=keeps, dialect=dialect or None
    )
    assert choice.placement == placement
    assert 10 < len(choice.why) < 80
