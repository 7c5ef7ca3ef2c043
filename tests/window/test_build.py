"""The window of recipe 20 (ENG-10, ENG-12): what a request holds, in which order."""

import itertools
from typing import Any

import pytest

from nodwyn_tui.domain import events as ev
from nodwyn_tui.domain.parts import Block, Call, Text, Thinking
from nodwyn_tui.domain.request import AssistantRow, ToolRow, UserRow
from nodwyn_tui.window.build import Shape
from nodwyn_tui.window.entries import fixed_tokens
from tests.builders import TOOLS, LogBuilder, texts


def test_requests_stand_under_their_header_and_steers_bare() -> None:
    """ENG-19: earlier requests keep the header they had."""
    log = LogBuilder(task_header="Task:")
    log.user("one")
    log.reply("first")
    log.user("hurry", via="steer")
    log.reply("second")
    log.user("two")
    assert texts(log.window()) == [
        "user: Task:\n\none",
        "assistant: first",
        "user: hurry",
        "assistant: second",
        "user: Task:\n\ntwo",
    ]


def test_absent_header_is_the_default_text() -> None:
    log = LogBuilder()
    log.user("one")
    assert texts(log.window()) == ["user: The person asks:\n\none"]


def test_rejected_message_stands_in_no_window() -> None:
    log = LogBuilder(task_header="")
    log.user("kept")
    log.user("too long", rejected=True)
    assert texts(log.window()) == ["user: kept"]


def test_each_request_is_its_predecessor_with_messages_appended() -> None:
    """ENG-19: the system text and catalogue never change, history only grows."""
    log = LogBuilder()
    log.user()
    windows = []
    for step in range(5):
        windows.append(log.request()[1])
        log.reply(Thinking("hm"), "ok", Call(f"c{step}", "shell", "{}"))
        log.result(f"c{step}", f"out {step}")
    for was, now in itertools.pairwise(windows):
        assert now.request.system == was.request.system
        assert now.request.tools == was.request.tools == TOOLS
        assert now.request.messages[: len(was.request.messages)] == was.request.messages


def test_results_stand_in_the_order_of_their_calls() -> None:
    """C03: the log has them as they finished."""
    log = LogBuilder(task_header="")
    log.user("go")
    log.reply(Call("P", "shell", "{}"), Call("Q", "shell", "{}"), Call("R", "shell", "{}"))
    log.result("Q", "q")
    log.result("R", "r")
    log.result("P", "p")
    assert texts(log.window())[2:] == ["tool: p", "tool: q", "tool: r"]


def test_plan_waits_until_no_result_can_follow() -> None:
    """ENG-19: the same place in every later window; one written again in the batch replaces it."""
    log = LogBuilder(task_header="", plan_header="Plan:")
    log.user("go")
    log.reply(Call("a", "plan-write", "{}"), Call("b", "shell", "{}"))
    log.add(ev.GatePlan(text="old"))
    log.add(ev.GatePlan(text="1. look"))
    log.result("a", "kept")
    log.result("b", "out")
    first = texts(log.window())
    assert first[-2:] == ["tool: out", "user: Plan:\n\n1. look"]
    log.reply("next")
    assert texts(log.window()) == [*first, "assistant: next"]


def test_plan_that_a_window_showed_is_not_replaced() -> None:
    """ENG-19: the prefix would change where an empty reply stands between two plans."""
    log = LogBuilder(task_header="", plan_header="")
    log.user("go")
    log.add(ev.GatePlan(text="first"))
    _, shown = log.request()
    log.reply("")
    log.add(ev.GatePlan(text="second"))
    assert texts(log.window()) == [*texts(shown), "user: second"]


def test_note_for_the_model_is_a_row_and_one_for_the_person_is_not() -> None:
    log = LogBuilder(task_header="")
    log.user("go")
    log.add(ev.Note(text="seen by nobody else", audience="person"))
    log.add(ev.Note(text="a file changed", audience="both"))
    log.reply("ok")
    assert texts(log.window()) == [
        "user: go",
        "user: Note from the program: a file changed",
        "assistant: ok",
    ]


def test_interrupted_reply_keeps_its_text_and_loses_half_made_calls_and_blocks() -> None:
    """AGT-3."""
    log = LogBuilder(task_header="")
    log.user("go")
    log.reply(
        Thinking("hm"), Block("thinking", "s/m-1", "sig"), "half an ans", Call("x", "shell", "{"),
        finish="interrupted",
    )  # fmt: skip
    log.user("what now?")
    assert texts(log.window()) == ["user: go", "assistant: hm half an ans", "user: what now?"]


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ((), []),
        (("  \n",), []),
        (("", Call("c", "shell", "{}")), ["assistant: shell(c)", "tool: (no output)"]),
        ((Thinking("only this"),), ["assistant: only this (no answer)"]),
    ],
    ids=["nothing", "blank", "calls only", "thinking only"],
)
def test_no_blank_text_is_ever_sent(parts: tuple[Any, ...], expected: list[str]) -> None:
    """C17, C18."""
    log = LogBuilder(task_header="")
    log.user("go")
    log.reply(*parts)
    if any(isinstance(part, Call) for part in parts):
        log.result("c", " \n")
    assert texts(log.window())[1:] == expected


def test_orphan_result_and_unanswered_call_never_go_out() -> None:
    """ENG-16, C01, C02: also for logs that hold them."""
    log = LogBuilder(task_header="")
    log.user("go")
    log.result("nowhere", "orphan")
    log.reply(Call("open", "shell", "{}"), Call("done", "shell", "{}"))
    log.result("done", "ok")
    log.user("and?")
    assert texts(log.window()) == [
        "user: go",
        "assistant: shell(open) shell(done)",
        "tool: [interrupted: no result was recorded]",
        "tool: ok",
        "user: and?",
    ]


def test_reused_call_id_belongs_to_its_latest_reply() -> None:
    """ENG-16, C29: in logs of other builds."""
    log = LogBuilder(task_header="")
    log.user("go")
    log.reply(Call("call_0", "shell", "{}"))
    log.result("call_0", "first")
    log.reply(Call("call_0", "shell", "{}"))
    log.result("call_0", "second")
    log.result("call_0", "a third nobody asked for")
    assert [text for text in texts(log.window()) if "tool" in text] == [
        "tool: first",
        "tool: second",
    ]


def test_reused_call_id_of_an_earlier_process_keeps_its_own_result() -> None:
    """ENG-16, ENG-11: results recorded before a resume belong to the calls before it."""
    log = LogBuilder(task_header="", protected=0)
    log.user("go")
    log.reply("first", Call("call_0", "shell", "{}"), Call("call_1", "shell", "{}"))
    log.result("call_0", "old")
    log.resume()
    log.result("call_1", "late")
    log.reply("second", Call("call_1", "shell", "{}"), Call("call_0", "shell", "{}"))
    log.result("call_0", "new")
    log.result("call_1", "last")
    assert texts(log.window())[1:] == [
        "assistant: first shell(call_0) shell(call_1)", "tool: old", "tool: late",
        "assistant: second shell(call_1) shell(call_0)", "tool: last", "tool: new",
    ]  # fmt: skip


def test_reused_call_id_leaves_the_results_of_the_reply_that_stays() -> None:
    """ENG-16: eliding one batch takes its own results out, and no other's of the same id."""
    log = LogBuilder(task_header="", protected=2)
    log.user("go")
    for number in range(2):
        log.reply("words " * 100, Call("call_0", "shell", "{}"))
        log.result("call_0", f"out {number}")
    window = log.window(Shape(high_water=log.window().estimate - 10))
    assert window.newly == (3, 5)
    assert texts(window)[1:] == [
        "assistant: [elided seq=3]", f"assistant: {'words ' * 100} shell(call_0)", "tool: out 1",
    ]  # fmt: skip


def test_one_id_twice_in_a_reply_is_answered_twice() -> None:
    """C29: as a log of another build may have it."""
    log = LogBuilder(task_header="")
    log.user("go")
    log.reply(Call("same", "shell", "{}"), Call("same", "shell", "{}"))
    log.result("same", "one")
    log.result("same", "two")
    assert texts(log.window())[1:] == [
        "assistant: shell(same) shell(same)", "tool: one", "tool: two",
    ]  # fmt: skip


def test_steer_and_plan_amid_results_stand_behind_them() -> None:
    """ENG-19, ENG-16: in the order in which they were recorded; nothing parts the results."""
    log = LogBuilder(task_header="", plan_header="")
    log.user("go")
    log.request()
    log.reply(Call("a", "plan-write", "{}"), Call("b", "shell", "{}"))
    log.add(ev.GatePlan(text="1. look"))
    log.result("a", "kept")
    log.user("hurry", via="steer")
    log.result("b", "out")
    expected = ["tool: kept", "tool: out", "user: 1. look", "user: hurry"]
    _, window = log.request()
    assert texts(window)[2:] == expected
    log.reply("ok")
    assert texts(log.window())[2:] == [*expected, "assistant: ok"]


def test_clear_starts_the_window_anew() -> None:
    """ENG-23: what stood before a reset is sent no more, its elisions are forgotten."""
    log = LogBuilder(task_header="")
    log.user("before")
    log.reply("ok")
    log.add(ev.WindowReset(kind="manual", reason="clear"))
    log.user("after")
    assert texts(log.window()) == ["user: after"]


def test_offered_tools_change_the_catalogue_but_not_the_size() -> None:
    """Recipe 7: the budget still counts the whole catalogue."""
    log = LogBuilder()
    log.user()
    whole, none, some = (
        log.window(),
        log.window(Shape(no_tools=True)),
        log.window(Shape(offered_tools=("shell",))),
    )
    assert none.request.tools == ()
    assert [tool.name for tool in some.request.tools] == ["shell"]
    assert whole.estimate == none.estimate == some.estimate


def test_estimate_is_a_token_for_three_bytes_rounded_up_per_entry() -> None:
    """ENG-13."""
    log = LogBuilder(task_header="")
    log.user("a" * 10)
    data = b'{"parts":[{"text":"aaaaaaaaaa","type":"text"}],"role":"user"}'
    window = log.window()
    assert window.fixed == fixed_tokens(log.recipe.system, log.recipe.tools)
    assert window.estimate - window.fixed == -(-len(data) // 3)


def test_rows_have_the_types_of_their_roles() -> None:
    log = LogBuilder()
    log.user()
    log.reply(Call("c", "shell", "{}"))
    log.result("c", is_error=True)
    user, reply, result = log.window().request.messages
    assert isinstance(user, UserRow)
    assert isinstance(reply, AssistantRow)
    assert result == ToolRow("c", "shell", True, (Text("done"),))
