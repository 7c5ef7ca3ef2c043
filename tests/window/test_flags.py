"""What each recipe version changed: the whole window before it and from it on (ENG-9)."""

import dataclasses

import pytest

from nodwyn_tui.domain import events as ev
from nodwyn_tui.domain.parts import Block, Call, Thinking
from nodwyn_tui.errors import ReplayError
from nodwyn_tui.window.build import ORDINARY, Shape, Window, build
from nodwyn_tui.window.policy import ADDED
from nodwyn_tui.window.replay import replay
from tests.builders import LogBuilder, texts

SUMMARY = "assistant: Summary of earlier conversation:\n\n"


def windows(log: LogBuilder, version: int, shape: Shape = ORDINARY) -> tuple[Window, Window]:
    """The log's window under the documented version before `version`, and under it."""
    before = max(other for other in ADDED if other < version)
    return under(log, before, shape), under(log, version, shape)


def under(log: LogBuilder, version: int, shape: Shape) -> Window:
    """The log's window as if it had always been of `version`."""
    start, *events = log.events
    assert isinstance(start, ev.SessionStart)
    recipe = dataclasses.replace(log.recipe, version=version)
    return build([dataclasses.replace(start, recipe=recipe), *events], recipe, shape)


def shown(log: LogBuilder, version: int, shape: Shape = ORDINARY) -> list[list[str]]:
    """The messages of both windows; the system prompt leads."""
    return [
        [f"system: {window.request.system}", *texts(window)]
        for window in windows(log, version, shape)
    ]


def test_2_summaries_replace_their_span() -> None:
    log = LogBuilder(task_header="")
    log.reply("old")
    for number in range(2):
        log.user(f"ask {number}")
    log.summary(2, 2)
    system = "system: You help.\n\nThe person asks:\n\nask 1"
    assert shown(log, 2) == [
        [system, "assistant: old", "user: ask 0", "user: ask 1"],
        [system, SUMMARY + "in short", "user: ask 0", "user: ask 1"],
    ]


def test_6_headers_are_the_recipes() -> None:
    """Before, and where none is recorded, they are the default text."""
    log = LogBuilder(task_header="Task:", plan_header="Plan:")
    log.user("go")
    log.add(ev.GatePlan(text="1. look"))
    assert shown(log, 6) == [
        [
            "system: You help.\n\nThe person asks:\n\ngo\n\nThe plan as it stands:\n\n1. look",
            "user: go",
        ],
        ["system: You help.\n\nTask:\n\ngo\n\nPlan:\n\n1. look", "user: go"],
    ]


@pytest.mark.parametrize(
    ("shape", "names"),
    [(Shape(no_tools=True), []), (Shape(offered_tools=("shell",)), ["shell"])],
    ids=["none", "some"],
)
def test_7_a_request_may_offer_no_tools_or_some(shape: Shape, names: list[str]) -> None:
    """The size counts the whole catalogue all the same."""
    log = LogBuilder(task_header="")
    log.user("go")
    before, after = windows(log, 7, shape)
    assert [tool.name for tool in before.request.tools] == ["fs-read", "shell"]
    assert [tool.name for tool in after.request.tools] == names
    assert before.estimate == after.estimate
    assert texts(before) == texts(after) == ["user: go"]


def test_8_every_request_caps_the_reply() -> None:
    """Before, none did: zero."""
    log = LogBuilder(max_output=500)
    log.user("go")
    before, after = windows(log, 8)
    assert (before.request.max_output, after.request.max_output) == (0, 500)
    assert texts(before) == texts(after)


def test_9_a_fold_stands_for_its_result() -> None:
    log = LogBuilder()
    log.user("go")
    log.reply(Call("a", "shell", "{}"))
    log.fold(log.result("a", "long output").seq, "in short")
    system = "system: You help.\n\nThe person asks:\n\ngo"
    assert shown(log, 9) == [
        [system, "user: go", "assistant: shell(a)", "tool: long output"],
        [system, "user: go", "assistant: shell(a)", "tool: in short"],
    ]


def test_10_a_request_may_pass_high_water() -> None:
    log = LogBuilder(protected=0, high_water=150, low_water=140)
    log.user("go")
    reply = log.reply("words " * 60)
    system = "system: You help.\n\nThe person asks:\n\ngo"
    assert shown(log, 10, Shape(high_water=3_000)) == [
        [system, "user: go", f"assistant: [elided seq={reply.seq}]"],
        [system, "user: go", "assistant: " + "words " * 60],
    ]


def test_12_images_go_by_digest_or_say_why_not() -> None:
    """Before, an image was its line alone, and a result's images were not shown."""
    log = LogBuilder(task_header="")
    log.image("ab")
    log.image("cd")
    log.reply(Call("a", "fs-read", "{}"))
    shot = ev.ImageRef(sha256="ef", mime="image/png", width=5, height=5, tokens=90)
    log.result("a", "x.png", name="fs-read", images=(shot,))
    line = "user: [image shot.png, data]"
    assert shown(log, 12, Shape(withheld={"cd": "missing"})) == [
        ["system: You help.", line, line, "assistant: fs-read(a)", "tool: x.png"],
        [
            "system: You help.", f"{line} <ab>", f"{line} [image not sent: missing]",
            "assistant: fs-read(a)", "tool: x.png <ef>",
        ],
    ]  # fmt: skip


def test_14_thinking_goes_back_with_its_reply() -> None:
    log = LogBuilder()
    log.user("go")
    log.reply(Thinking("hm"), "ok")
    log.reply(Thinking("only this"))
    system = "system: You help.\n\nThe person asks:\n\ngo"
    assert shown(log, 14) == [
        [system, "user: go", "assistant: ok"],
        [system, "user: go", "assistant: hm ok", "assistant: only this (no answer)"],
    ]


def test_15_task_and_plan_are_messages() -> None:
    """The system prompt never changes again; a new request no longer ends the plan."""
    log = LogBuilder(task_header="Task:", plan_header="Plan:")
    log.user("one")
    log.add(ev.GatePlan(text="1. look"))
    log.reply("ok")
    log.user("two")
    log.add(ev.GatePlan(text="1. think"))
    assert shown(log, 15) == [
        [
            "system: You help.\n\nTask:\n\ntwo\n\nPlan:\n\n1. think",
            "user: one", "assistant: ok", "user: two",
        ],
        [
            "system: You help.",
            "user: Task:\n\none", "user: Plan:\n\n1. look", "assistant: ok",
            "user: Task:\n\ntwo", "user: Plan:\n\n1. think",
        ],
    ]  # fmt: skip


def paired_log() -> LogBuilder:
    """Results out of order, one that nobody asked for, and a note among them."""
    log = LogBuilder(task_header="", protected=0, low_water=120)
    log.user("go")
    log.reply("words " * 40, Call("a", "shell", "{}"), Call("b", "shell", "{}"))
    log.result("b", "second")
    log.add(ev.Note(text="a file changed", audience="model"))
    log.result("a", "first")
    log.result("nobody", "orphan")
    return log


def test_16_results_stand_with_their_calls() -> None:
    """Before, each stood where it was recorded; in both, nothing parts them."""
    words, note = "assistant: " + "words " * 40, "user: Note from the program: a file changed"
    system = "system: You help."
    assert shown(paired_log(), 16) == [
        [
            system, "user: go", f"{words} shell(a) shell(b)",
            "tool: second", "tool: first", "tool: orphan", note,
        ],
        [system, "user: go", f"{words} shell(a) shell(b)", "tool: first", "tool: second", note],
    ]  # fmt: skip


def test_16_results_leave_with_their_calls() -> None:
    """Before, an elided reply lost its calls and left its results behind."""
    note, system = "user: Note from the program: a file changed", "system: You help."
    assert shown(paired_log(), 16, Shape(high_water=150)) == [
        [
            system, "user: go", "assistant: [elided seq=3]",
            "tool: second", "tool: first", "tool: orphan", note,
        ],
        [system, "user: go", "assistant: [elided seq=3]", note],
    ]  # fmt: skip


def test_16_a_batch_without_all_its_results_is_kept() -> None:
    log = LogBuilder(task_header="", protected=0, low_water=120)
    log.user("go")
    log.reply("words " * 40, Call("a", "shell", "{}"), Call("b", "shell", "{}"))
    log.result("b", "second")
    system, interrupted = "system: You help.", "tool: [interrupted: no result was recorded]"
    assert shown(log, 16, Shape(high_water=150)) == [
        [system, "user: go", "assistant: [elided seq=3]", "tool: second"],
        [
            system, "user: go", f"assistant: {'words ' * 40} shell(a) shell(b)",
            interrupted, "tool: second",
        ],
    ]  # fmt: skip


def long_read(version: int, cap: int) -> LogBuilder:
    log = LogBuilder(version=version, max_result_tokens=cap, task_header="")
    log.reply(Call("a", "fs-read", '{"path":"a.py"}'))
    log.result("a", "\n".join(f"x{n}" for n in range(1, 201)), name="fs-read")
    return log


def test_17_a_cut_names_the_lines_it_leaves_out() -> None:
    """Before, it was made anywhere and told its size only."""
    head = "\n".join(f"x{n}" for n in range(1, 20))
    tail = "\n".join(f"x{n}" for n in range(187, 201))
    before, after = shown(long_read(16, 140), 17)
    assert before[2] == (
        f"tool: {head}\n[about 308 tokens left out; session_history"
        f' {{"action": "read_item", "item": "i:4"}} shows it whole]\n6\n{tail}'
    )
    assert after[2] == (
        f"tool: {head}\n[lines 20-186 of 200 left out;"
        f' fs-read {{"path": "a.py", "start": 20, "end": 186}} shows them]\n{tail}'
    )
    assert before[:2] == after[:2] == ["system: You help.", "assistant: fs-read(a)"]


def test_18_blocks_go_back_with_their_reply() -> None:
    log = LogBuilder(task_header="")
    log.user("go")
    log.reply(Block("thinking", "o", "sig"), Call("a", "shell", "{}"))
    log.result("a", "out")
    assert shown(log, 18) == [
        ["system: You help.", "user: go", "assistant: shell(a)", "tool: out"],
        ["system: You help.", "user: go", "assistant: <sig> shell(a)", "tool: out"],
    ]


def test_19_a_file_read_is_shown_up_to_twice_the_cap() -> None:
    """Any other result is cut as before."""
    log = long_read(18, 200)
    text = "\n".join(f"x{n}" for n in range(1, 201))
    log.reply(Call("b", "shell", "{}"))
    log.result("b", text)
    before, after = shown(log, 19)
    assert "left out" in before[2]
    assert after[2] == f"tool: {text}"
    assert before[4] == after[4]
    assert "left out" in after[4]


def test_20_a_reset_starts_the_window() -> None:
    log = LogBuilder(task_header="")
    log.user("before")
    log.reply("ok")
    log.clear()
    log.user("after")
    assert shown(log, 20) == [
        ["system: You help.", "user: before", "assistant: ok", "user: after"],
        ["system: You help.", "user: after"],
    ]


def test_20_what_is_read_back_is_shown_up_to_twice_the_cap() -> None:
    """ROL-11: as a file read is; a page of history fits, and is never cut."""
    log = LogBuilder(max_result_tokens=200, task_header="")
    log.reply(Call("a", "session_history", "{}"))
    text = "\n".join(f"x{n}" for n in range(1, 201))
    log.result("a", text, name="session_history")
    before, after = shown(log, 20)
    assert "left out" in before[2]
    assert after[2] == f"tool: {text}"


def test_20_a_rollovers_guidance_and_its_warning_are_rows() -> None:
    """ROL-1, ROL-3: before, neither was sent."""
    log = LogBuilder(task_header="")
    log.add(ev.WindowLeadIn(rollover_id="r:0", text="guidance", asked="asked", plan="planned"))
    log.user("go")
    log.add(ev.BudgetWarning(text="it fills"))
    note = "user: Note from the program:"
    assert shown(log, 20) == [
        ["system: You help.", "user: go"],
        [
            "system: You help.",
            f"{note} guidance\n\nasked\n\nThe plan as it stands:\n\nplanned",
            "user: go",
            f"{note} it fills",
        ],
    ]


def test_20_a_restored_result_is_shown_whole() -> None:
    """ENG-15, ENG-21: what the person brings back comes back as it was."""
    log = LogBuilder(task_header="")
    log.user("go")
    log.reply(Call("a", "shell", "{}"))
    target = log.result("a", "long output").seq
    log.fold(target, "in short")
    log.edit(target, "restore")
    before = ["system: You help.", "user: go", "assistant: shell(a)"]
    assert shown(log, 20) == [[*before, "tool: in short"], [*before, "tool: long output"]]


def test_20_fresh_rows_stand_behind_completed_history() -> None:
    """ORD-1: before, they were no part of a window."""
    log = LogBuilder(task_header="")
    log.exchange("a", "out")
    rows = {"kind": "recall", "trust": "data", "digest": "ef"}
    log.add(ev.FreshContext(**rows, text="stays", placement="on_change"))
    seq = log.add(ev.FreshContext(**rows, text="goes", placement="each_request")).seq
    log.user("next")
    past = ["system: You help.", "assistant: shell(a)", "tool: out"]
    assert shown(log, 20, Shape(fresh=(seq,))) == [
        [*past, "user: next"],
        [*past, "user: stays", "user: goes", "user: next"],
    ]


def test_20_the_recipe_says_which_blocks_go_back() -> None:
    """ORD-7: before, all did."""
    log = LogBuilder(task_header="", keep_reasoning="latest")
    log.user("go")
    for name in ("a", "b"):
        log.reply(Block("thinking", "o", f"sig {name}"), Call(name, "shell", "{}"))
        log.result(name, "out")
    before, after = shown(log, 20)
    assert before[2::2] == ["assistant: <sig a> shell(a)", "assistant: <sig b> shell(b)"]
    assert after[2::2] == ["assistant: shell(a)", "assistant: <sig b> shell(b)"]


def test_every_version_of_the_table_is_tested_here() -> None:
    tested = {int(name.split("_")[1]) for name in globals() if name[5:6].isdigit()}
    assert tested == set(ADDED) - {1}


@pytest.mark.parametrize("version", [3, 4, 5, 11, 13, 21])
def test_log_that_names_an_undocumented_version_is_refused_by_name(version: int) -> None:
    """ENG-9, ENG-26."""
    log = LogBuilder()
    log.user("go")
    request, _ = log.request()
    start = log.events[0]
    assert isinstance(start, ev.SessionStart)
    other = dataclasses.replace(start.recipe, version=version)
    log.events[0] = dataclasses.replace(start, recipe=other)
    with pytest.raises(ReplayError, match=f"recipe version {version} is not documented"):
        replay(log.events, request.seq)


def test_resume_of_an_older_log_drops_the_results_of_elided_calls() -> None:
    """ENG-11: even when no trim is due; both requests rebuild, each by its own recipe."""
    log = LogBuilder(version=15, task_header="", protected=1, high_water=400, low_water=250)
    log.user("go")
    for step in range(2):
        log.request()
        log.reply("words " * 80, Call(f"c{step}", "shell", "{}"))
        log.result(f"c{step}", "out")
    log.user("on")
    old, before = log.request()
    assert texts(before)[:3] == ["user: go", "assistant: [elided seq=4]", "tool: out"]
    log.reply("ok")
    log.resume(version=16, task_header="", protected=1, high_water=2_000, low_water=250)
    new, after = log.request()
    assert texts(after)[:2] == ["user: go", "assistant: [elided seq=4]"]
    assert "tool: out" not in texts(after)[2]
    assert 6 in new.elided, "its seq joins the elided set, though nothing was trimmed"
    assert replay(log.events, old.seq) == before
    assert replay(log.events, new.seq) == after
