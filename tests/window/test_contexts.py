"""Where a window starts, and what stays out of it (ENG-23)."""

from collections.abc import Callable

import pytest

from nodwyn_tui.domain import events as ev
from nodwyn_tui.domain.parts import Block, Call, Text
from nodwyn_tui.window.build import build
from nodwyn_tui.window.contexts import Place, StartTracker, place
from nodwyn_tui.window.replay import replay
from tests.builders import MODEL, LogBuilder, texts


def sub_context(log: LogBuilder) -> ev.ContextOpen:
    """A sub-agent's context, open, with its own prompt and one tool."""
    opened = log.add(
        ev.ContextOpen(
            id=100, parent=0, kind="task", system="You look.", offered_tools=("fs-read",)
        )
    )
    log.add(ev.UserMessage(text="look there", via="steer", ctx=100))
    return opened


def from_start(log: LogBuilder) -> list[ev.Event]:
    """The events that a resumed session holds."""
    tracker = StartTracker()
    for event in log.events:
        tracker.feed(event)
    return [event for event in log.events if tracker.needs(event.seq)]


def test_sub_context_stays_out_of_its_parents_window() -> None:
    log = LogBuilder(task_header="")
    log.user("go")
    sub_context(log)
    log.add(ev.ContextClose(id=100, report="found"))
    assert texts(log.window()) == ["user: go"]


def test_sub_context_has_its_own_window_system_and_tools() -> None:
    """ENG-19: its size still counts the whole catalogue."""
    log = LogBuilder(task_header="")
    log.user("go")
    sub_context(log)
    window = build(log.events, log.recipe, at=Place(100, 0))
    assert texts(window) == ["user: look there"]
    assert window.request.system == "You look."
    assert [tool.name for tool in window.request.tools] == ["fs-read"]


def test_request_of_a_sub_context_replays() -> None:
    """ENG-26."""
    log = LogBuilder(task_header="")
    log.user("go")
    sub_context(log)
    window = build(log.events, log.recipe, at=Place(100, 0))
    request = log.add(
        ev.LlmRequest(
            ctx=100, purpose="subagent", model=MODEL, parameters=ev.Parameters(),
            digest=window.digest, estimate=window.estimate,
        )
    )  # fmt: skip
    assert replay(log.events, request.seq) == window


def test_lasting_context_takes_its_parents_place_and_keeps_the_sessions_prompt() -> None:
    log = LogBuilder(task_header="")
    log.user("go")
    log.reply("long work")
    log.compact("so far")
    window = log.window()
    assert texts(window) == ["user: Note from the program: so far"]
    assert window.request.system == "You help."


def test_lasting_context_is_left_again_until_the_person_speaks_in_it() -> None:
    log = LogBuilder(task_header="")
    log.user("go")
    opened = log.compact()
    log.widen(opened)
    assert texts(log.window()) == ["user: go"]
    spoken = log.compact()
    log.user("on")
    log.widen(spoken)
    log.ctx = spoken.id
    assert texts(log.window())[-1] == "user: on", "for good"


def test_plan_goes_with_the_context_it_was_recorded_in() -> None:
    """ENG-19."""
    log = LogBuilder(task_header="", plan_header="")
    log.user("go")
    opened = log.compact()
    log.add(ev.GatePlan(text="1. look"))
    assert texts(log.window())[-1] == "user: 1. look"
    log.widen(opened)
    assert texts(log.window()) == ["user: go"]


def test_plan_of_a_sub_context_is_its_own() -> None:
    """ENG-19: placed as in the conversation, whose plan waits for its own results meanwhile."""
    log = LogBuilder(task_header="", plan_header="Plan:")
    log.user("go")
    log.reply(Call("p", "plan-write", "{}"), Call("t", "task", "{}"))
    log.add(ev.GatePlan(text="the whole"))
    log.result("p", "kept")
    sub_context(log)
    log.add(ev.LlmResponse(ctx=100, req=1, parts=(Call("s", "plan-write", "{}"),), finish="calls"))
    log.add(ev.GatePlan(ctx=100, text="old part"))
    log.add(ev.GatePlan(ctx=100, text="a part"))
    log.add(ev.ToolResult(ctx=100, call_id="s", name="plan-write", text="kept too"))
    own = [
        "user: look there",
        "assistant: plan-write(s)",
        "tool: kept too",
        "user: Plan:\n\na part",
    ]
    assert texts(build(log.events, log.recipe, at=Place(100, 0))) == own
    log.add(ev.LlmResponse(ctx=100, req=1, parts=(Text("found"),), finish="stop"))
    assert texts(build(log.events, log.recipe, at=Place(100, 0))) == [*own, "assistant: found"]
    log.add(ev.ContextClose(id=100, report="found"))
    log.result("t", "found")
    assert texts(log.window())[1:] == [
        "assistant: plan-write(p) task(t)", "tool: kept", "tool: found", "user: Plan:\n\nthe whole",
    ]  # fmt: skip


def test_plan_that_waits_goes_with_a_folded_context() -> None:
    """ENG-19: also one that no window has shown yet; one written in the new context stays."""
    log = LogBuilder(task_header="", plan_header="")
    log.user("go")
    log.add(ev.GatePlan(text="old"))
    log.compact("so far")
    log.add(ev.GatePlan(text="new"))
    log.user("on")
    assert texts(log.window()) == ["user: Note from the program: so far", "user: new", "user: on"]


def test_plan_before_a_reset_is_gone() -> None:
    log = LogBuilder(task_header="", plan_header="")
    log.user("go")
    log.add(ev.GatePlan(text="old"))
    log.clear()
    log.user("on")
    assert texts(log.window()) == ["user: on"]


def test_rewind_to_before_an_unspoken_compaction_leaves_it() -> None:
    """The message that is said again stood before it; its context is the conversation again."""
    log = LogBuilder(task_header="")
    log.user("one")
    log.reply("first")
    wrong = log.user("tow")
    log.compact()
    log.rewind(wrong.seq)
    log.ctx = 0
    log.user("two")
    assert texts(log.window()) == ["user: one", "assistant: first", "user: two"]


def test_window_from_the_start_knows_the_recipe_that_held_there() -> None:
    """ENG-23, ENG-20: a resume under another recipe makes earlier blocks stale, whatever was let
    go of.
    """
    log = LogBuilder(task_header="")
    log.user("before")
    log.clear()
    log.user("after")
    log.request()
    log.reply(Block("thinking", "o", "sig"), "hm")
    log.resume(max_result_tokens=300)
    log.user("on")
    kept = from_start(log)
    assert kept[0] == log.events[0]
    assert kept[1].seq > 2, "what was said before is let go of"
    assert build(kept, log.recipe, at=Place(0, kept[1].seq)) == log.window()
    assert texts(log.window())[1] == "assistant: hm"


def spoken_in_two_compactions(log: LogBuilder) -> None:
    log.user("one")
    log.compact("first note")
    log.user("two")
    log.compact("second note")
    log.user("three")


def cleared_in_a_compaction(log: LogBuilder) -> None:
    log.user("one")
    log.compact()
    log.user("two")
    log.clear()
    log.user("three")


@pytest.mark.parametrize("play", [spoken_in_two_compactions, cleared_in_a_compaction])
def test_events_of_the_start_alone_tell_where_the_conversation_goes_on(
    play: Callable[[LogBuilder], None],
) -> None:
    """ENG-23, ENG-11: in the context that was opened before them."""
    log = LogBuilder(task_header="")
    play(log)
    kept = from_start(log)
    assert len(kept) < len(log.events) - 2
    assert place(kept) == place(log.events)
    assert build(kept, log.recipe) == log.window()
    assert texts(log.window())[-1] == "user: three"


def test_sub_contexts_reset_is_not_the_conversations() -> None:
    log = LogBuilder(task_header="")
    log.user("one")
    sub_context(log)
    log.add(ev.WindowReset(kind="rollover", rollover_id="r", ctx=100))
    log.add(ev.ContextOpen(id=101, parent=100, kind="compaction", lasting=True, ctx=101))
    log.add(ev.WindowReset(kind="rollover", rollover_id="s", ctx=101))
    assert place(log.events) == Place(0, 0)
    assert texts(log.window()) == ["user: one"]
