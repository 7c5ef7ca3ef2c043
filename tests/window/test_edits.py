"""What the person takes out of the window and brings back: drops, restores, rewinds."""

from nodwyn_tui.domain.parts import Call, Text
from nodwyn_tui.window.build import Shape
from tests.builders import LogBuilder, texts


def elided_batch() -> tuple[LogBuilder, int, int]:
    """A log whose oldest reply, with its result, left the window; the seqs of both."""
    log = LogBuilder(task_header="", protected=1)
    log.user("go")
    log.request()
    reply = log.reply("words " * 100, Call("a", "shell", "{}"))
    result = log.result("a", "out " * 100)
    log.user("and")
    _, window = log.request(Shape(high_water=window_of(log) - 250))
    assert {reply.seq, result.seq} <= window.elided
    log.reply("ok")
    return log, reply.seq, result.seq


def window_of(log: LogBuilder) -> int:
    return log.window().estimate


def test_dropped_message_leaves_its_place_marked() -> None:
    """ENG-15: in place, nothing is reordered."""
    log = LogBuilder(task_header="")
    first = log.user("secret")
    log.reply("ok")
    log.edit(first.seq, "drop")
    assert texts(log.window()) == [f"user: [dropped seq={first.seq}]", "assistant: ok"]
    log.edit(first.seq, "restore")
    assert texts(log.window()) == ["user: secret", "assistant: ok"]


def test_dropped_reply_takes_its_results_along() -> None:
    """ENG-16: no request carries an orphan."""
    log = LogBuilder(task_header="")
    log.user("go")
    reply = log.reply(Call("a", "shell", "{}"))
    log.result("a", "out")
    log.edit(reply.seq, "drop")
    assert texts(log.window()) == ["user: go", f"assistant: [dropped seq={reply.seq}]"]


def test_restored_reply_brings_its_results_back() -> None:
    """ENG-15, ENG-16: they had left with it."""
    log, reply, _ = elided_batch()
    log.edit(reply, "restore")
    assert texts(log.window())[1:3] == [
        f"assistant: {'words ' * 100} shell(a)",
        f"tool: {'out ' * 100}",
    ]


def test_restored_result_brings_the_reply_that_asked_for_it() -> None:
    """ENG-16: a result without its call cannot go out."""
    log, _, result = elided_batch()
    log.edit(result, "restore")
    assert texts(log.window())[2] == f"tool: {'out ' * 100}"


def test_dropped_result_leaves_its_call_answered() -> None:
    """ENG-16: the reply that asked for it stays, and its other results."""
    log = LogBuilder(task_header="")
    log.user("go")
    log.reply(Call("a", "shell", "{}"), Call("b", "shell", "{}"))
    result = log.result("a", "out")
    log.result("b", "other")
    log.edit(result.seq, "drop")
    assert texts(log.window())[1:] == [
        "assistant: shell(a) shell(b)",
        f"tool: [dropped seq={result.seq}]",
        "tool: other",
    ]
    assert log.window().dropped == {result.seq}


def test_window_tells_what_left_with_a_dropped_reply() -> None:
    log = LogBuilder(task_header="")
    log.user("go")
    reply = log.reply(Call("a", "shell", "{}"))
    result = log.result("a", "out")
    log.edit(reply.seq, "drop")
    assert log.window().dropped == {reply.seq, result.seq}
    log.edit(reply.seq, "restore")
    assert log.window().dropped == frozenset()


def test_fold_after_a_restore_holds_again() -> None:
    """ENG-21: the latest line about a result decides."""
    log = LogBuilder(task_header="")
    log.user("go")
    log.reply(Call("a", "shell", "{}"))
    target = log.result("a", "long output").seq
    log.fold(target, "first")
    log.edit(target, "restore")
    log.fold(target, "second")
    assert texts(log.window())[-1] == "tool: second"


def test_what_was_restored_and_elided_again_stays_elided() -> None:
    """ENG-15: the later request records it anew."""
    log, reply, result = elided_batch()
    log.edit(reply, "restore")
    log.user("more")
    again, window = log.request(Shape(high_water=window_of(log) - 100))
    assert result in again.elided
    log.reply("ok")
    later = log.window()
    assert later.newly == ()
    assert later.request.messages[: len(window.request.messages)] == window.request.messages


def test_rewind_takes_the_end_of_the_conversation_out() -> None:
    """AGT-4: later events stay in the log, out of the window."""
    log = LogBuilder(task_header="")
    log.user("one")
    log.reply("first")
    wrong = log.user("tow")
    log.reply("what?")
    log.rewind(wrong.seq)
    log.user("two")
    assert texts(log.window()) == ["user: one", "assistant: first", "user: two"]


def test_rewind_un_elides_nothing_and_keeps_folds_and_edits() -> None:
    """ENG-15: what stands before the rewound part reads as it did, so the prefix holds."""
    log = LogBuilder(task_header="", protected=1)
    log.user("go")
    for step in range(3):
        log.exchange(f"c{step}", "x" * 600)
    folded, dropped = log.events[-1].seq, log.user("dropped").seq
    wrong = log.user("wrong")
    log.fold(folded, "in short")
    log.edit(dropped, "drop")
    _, trimmed = log.request(Shape(high_water=window_of(log) - 100))
    assert trimmed.newly
    log.reply("hm")
    log.rewind(wrong.seq)
    log.user("right")
    kept = trimmed.request.messages[:-1]
    assert log.window().request.messages[: len(kept)] == kept
    assert Text("in short") in kept[-2].parts
