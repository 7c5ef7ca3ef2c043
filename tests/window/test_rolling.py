"""The window that grows is the window built from scratch (ENG-27)."""

import dataclasses

from hypothesis import given
from hypothesis import strategies as st

from nodwyn_tui.domain import events as ev
from nodwyn_tui.domain.canonical import request_bytes, sha256
from nodwyn_tui.domain.parts import Block, Call
from nodwyn_tui.domain.recipe import KeepReasoning
from nodwyn_tui.window.build import ORDINARY, UNTRIMMED, Shape, Window, build
from nodwyn_tui.window.contexts import Place
from nodwyn_tui.window.rolling import Rolling
from tests.builders import MODEL, LogBuilder, texts
from tests.generated import EACH_EVENT, EACH_REQUEST, KEEPS, STEPS, VERSIONS, Step, played


def shape_of(request: ev.LlmRequest) -> Shape:
    return Shape(
        no_tools=request.no_tools,
        offered_tools=request.offered_tools,
        high_water=request.high_water,
        withheld={image.sha256: image.reason for image in request.withheld_images},
        fresh=request.fresh,
    )


def assert_same(grown: Window, scratch: Window) -> None:
    assert grown == scratch
    assert grown.digest == scratch.digest == sha256(request_bytes(scratch.request))
    assert grown.trail == scratch.trail


@EACH_EVENT
@given(STEPS, VERSIONS, KEEPS)
def test_every_window_and_digest_at_every_point(
    steps: list[Step], version: int, keep: KeepReasoning
) -> None:
    session = played(steps, version, keep)
    rolling, recipe = Rolling(), session.recipe
    for count, event in enumerate(session.events):
        before = session.events[:count]
        if isinstance(event, ev.LlmRequest):
            window = rolling.window(recipe, shape_of(event))
            assert window.digest == event.digest
            assert_same(window, build(before, recipe, shape_of(event)))
        rolling.feed(event)
        if isinstance(event, ev.RecipeEvent):
            recipe = event.recipe
        assert_same(rolling.window(recipe), build(session.events[: count + 1], recipe))


@EACH_REQUEST
@given(STEPS, st.integers(0, 40), st.sampled_from(["drop", "restore", "fold", "rewind"]))
def test_price_of_a_change_is_told_from_the_window_that_it_makes(
    steps: list[Step], at: int, change: str
) -> None:
    """TUI-15: a change that is only asked about shows what it would do, and leaves no trace."""
    session = played(steps)
    rolling, recipe = Rolling(), session.recipe
    for event in session.events:
        rolling.feed(event)
        recipe = event.recipe if isinstance(event, ev.RecipeEvent) else recipe
    rows = [entry for entry in rolling.window(recipe, UNTRIMMED).entries if entry.seq > 0]
    if change == "rewind":
        rows = [entry for entry in rows if entry.kind == "user"]
    if not rows:
        return
    target = rows[at % len(rows)].seq
    draft: ev.Event = {
        "drop": ev.WindowEdit(target=target, action="drop"),
        "restore": ev.WindowEdit(target=target, action="restore"),
        "fold": ev.ResultFold(target=target, text="in short"),
        "rewind": ev.WindowRewind(to=target, why="edit"),
    }[change]
    priced = rolling.window(recipe, UNTRIMMED, draft)
    assert_same(rolling.window(recipe), build(session.events, recipe))
    session.add(draft)
    assert_same(priced, build(session.events, recipe, UNTRIMMED))


class Live:
    """A session whose windows roll, checked against those from scratch as it goes."""

    def __init__(self, log: LogBuilder) -> None:
        self.log, self.rolling = log, Rolling()
        self.fed = 0

    def catch_up(self) -> None:
        for event in self.log.events[self.fed :]:
            self.rolling.feed(event)
        self.fed = len(self.log.events)

    def request(self, shape: Shape = ORDINARY) -> Window:
        self.catch_up()
        window = self.rolling.window(self.log.recipe, shape)
        _, scratch = self.log.request(shape)
        assert_same(window, scratch)
        self.catch_up()
        return window

    def step(self, number: int, size: int = 20) -> Window:
        window = self.request()
        self.log.reply("ok", Call(f"c{number}", "shell", "{}"))
        self.log.result(f"c{number}", "x" * size)
        return window


def live(**changes: int) -> Live:
    log = LogBuilder(**changes)
    log.user("go")
    return Live(log)


def test_growing_session_is_built_from_scratch_once() -> None:
    """Steps, plans, notes, steers, another run, a sub-context, a resume under the same recipe."""
    session = live(high_water=90_000, low_water=50_000)
    for number in range(20):
        session.step(number)
        session.log.add(ev.GatePlan(text=f"plan {number}"))
        session.log.user("hurry", via="steer" if number % 3 else "prompt")
        session.log.add(ev.Note(text="changed", audience="model"))
        session.log.add(ev.ContextOpen(id=1_000 + number, parent=0, kind="task"))
        session.log.add(ev.UserMessage(text="look", ctx=1_000 + number))
        session.log.resume()
    assert session.rolling.rebuilt == 1


def test_trim_is_built_from_scratch_and_goes_on_from_there() -> None:
    session = live()
    trims = sum(bool(session.step(number, 500).newly) for number in range(40))
    assert trims > 1
    assert session.rolling.rebuilt == 1 + trims


def test_request_past_high_water_and_one_without_tools_differ_from_their_base() -> None:
    session = live()
    session.step(0)
    session.request(Shape(high_water=9_000))
    session.log.reply("note")
    session.request(Shape(no_tools=True))
    session.log.reply("ok")
    session.request()


def test_drafts_are_seen_as_if_recorded_and_left_no_trace() -> None:
    """Where they only add, nothing is built from scratch; a reset among them starts the window."""
    session = live(high_water=90_000, low_water=50_000)
    session.step(0)
    session.request()
    recipe, rolling = session.log.recipe, session.rolling
    before, rebuilt = rolling.window(recipe), rolling.rebuilt
    draft = ev.UserMessage(text="and?")
    seen = rolling.window(recipe, ORDINARY, draft)
    assert rolling.rebuilt == rebuilt
    session.log.add(draft)
    assert_same(seen, session.log.window())
    reset = ev.WindowReset(kind="manual", reason="clear")
    assert texts(rolling.window(recipe, ORDINARY, reset, draft)) == [
        "user: The person asks:\n\nand?"
    ]
    assert_same(rolling.window(recipe), before)


def test_draft_about_an_earlier_line_is_built_from_scratch() -> None:
    """What a fold would save is asked before it is made."""
    session = live(high_water=90_000, low_water=50_000)
    session.step(0, 500)
    session.request()
    result = next(e for e in session.log.events if isinstance(e, ev.ToolResult))
    fold = ev.ResultFold(target=result.seq, text="in short")
    seen = session.rolling.window(session.log.recipe, ORDINARY, fold)
    session.log.add(fold)
    assert_same(seen, session.log.window())


def test_image_that_is_withheld_from_now_on_is_built_from_scratch() -> None:
    session = live(high_water=90_000, low_water=50_000)
    session.log.image("ab")
    session.step(0)
    withheld = Shape(withheld={"ab": "refused"})
    session.request(withheld)
    rebuilt = session.rolling.rebuilt
    session.log.reply("ok")
    session.request(withheld)
    assert session.rolling.rebuilt == rebuilt


def test_another_recipe_than_the_recorded_one_is_built_from_scratch() -> None:
    """The settings ask what a window would be under other marks."""
    session = live()
    session.step(0)
    session.request()
    limits = dataclasses.replace(session.log.recipe.window, max_result_tokens=10)
    other = dataclasses.replace(session.log.recipe, window=limits)
    assert_same(session.rolling.window(other), build(session.log.events, other))


def test_request_that_was_not_made_here_starts_anew() -> None:
    """An elision that another builder decided is followed all the same."""
    session = live(protected=1)
    session.step(0, 300)
    session.step(1, 300)
    session.log.request(Shape(high_water=300))
    session.log.reply("ok")
    session.catch_up()
    window = session.rolling.window(session.log.recipe)
    assert window.elided
    assert_same(window, session.log.window())


def test_sub_context_rolls_by_itself() -> None:
    """Whatever the others say meanwhile, which it does not even hold."""
    log = LogBuilder(task_header="")
    log.user("go")
    log.add(ev.ContextOpen(id=100, parent=0, kind="task", system="You look."))
    rolling, fed = Rolling(ctx=100), 0
    for number in range(5):
        log.add(ev.UserMessage(text=f"look {number}", via="steer", ctx=100))
        log.user("meanwhile", via="steer")
        log.request()
        for event in log.events[fed:]:
            rolling.feed(event)
        window = rolling.window(log.recipe)
        assert_same(window, build(log.events, log.recipe, at=Place(100, 0)))
        assert texts(window)[-1] == f"user: look {number}"
        fed = len(log.events)
        log.add(
            ev.LlmRequest(
                ctx=100, model=MODEL, parameters=ev.Parameters(), digest=window.digest,
                estimate=window.estimate,
            )
        )  # fmt: skip
    assert rolling.rebuilt == 1
    assert {event.ctx for event in rolling._events[2:]} == {100}


def test_events_before_the_start_are_let_go_of() -> None:
    session = live(high_water=90_000, low_water=50_000)
    for number in range(10):
        session.step(number)
    session.log.clear()
    session.log.user("anew")
    session.step(11)
    assert len(session.rolling._events) < 10


def test_recipe_that_comes_back_before_the_next_request() -> None:
    """ENG-20, ENG-27: blocks too go back as from scratch, though the base was made under it."""
    session = live(high_water=9_000)
    session.request()
    session.log.reply(Block("thinking", "o", "sig"), Call("a", "shell", "{}"))
    session.log.result("a", "out")
    before = session.log.recipe
    session.log.resume(high_water=9_000, max_result_tokens=300)
    session.log.recipe = before
    session.log.resume()
    assert texts(session.request())[1] == "assistant: <sig> shell(a)"
