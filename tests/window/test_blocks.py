"""When opaque blocks go back with their reply, and when they went stale (ENG-20)."""

from collections.abc import Callable

import pytest

from nodwyn_tui.domain import events as ev
from nodwyn_tui.domain.parts import Block, Call, Thinking
from nodwyn_tui.domain.recipe import KeepReasoning
from nodwyn_tui.window.build import Shape, Window
from nodwyn_tui.window.rolling import Rolling
from tests.builders import LogBuilder, texts


def said(log: LogBuilder, number: int) -> None:
    """A request and a reply with a block, its place before a call; then the result."""
    log.request()
    log.reply(
        Thinking("hm"), Block("thinking", "o", f"sig{number}"), Call(f"c{number}", "shell", "{}")
    )
    log.result(f"c{number}", "out " * 100)


def blocks(window: Window) -> list[str]:
    return [word for text in texts(window) for word in text.split() if word.startswith("<sig")]


def asked() -> LogBuilder:
    log = LogBuilder(protected=1, high_water=9_000)
    log.image("ab")
    log.user("go")
    said(log, 1)
    said(log, 2)
    return log


def test_block_goes_back_at_its_place_among_the_replys_calls() -> None:
    assert texts(asked().window())[2] == "assistant: hm <sig1> shell(c1)"


CHANGES: dict[str, Callable[[LogBuilder], object]] = {
    "fold": lambda log: log.fold(6),
    "drop": lambda log: log.edit(6, "drop"),
    "cap": lambda log: log.resume(protected=1, high_water=9_000, max_result_tokens=50),
    "recipe": lambda log: log.resume(protected=1, high_water=9_000, version=19),
    "prompt": lambda log: log.resume(protected=1, high_water=9_000, system="Other."),
    "catalogue": lambda log: log.resume(protected=1, high_water=9_000, tools=()),
    "task header": lambda log: log.resume(protected=1, high_water=9_000, task_header="Do:"),
    "plan header": lambda log: log.resume(protected=1, high_water=9_000, plan_header="Plan:"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_reply_made_before_a_change_goes_back_without_its_blocks(
    change: Callable[[LogBuilder], object],
) -> None:
    """Its thinking stays; a reply made after the change keeps its own."""
    log = asked()
    change(log)
    said(log, 3)
    window = log.window()
    assert blocks(window)[-1] == "<sig3>"
    assert "<sig2>" not in blocks(window)
    assert texts(window)[4] == "assistant: hm shell(c2)"


def test_recipe_that_comes_back_brings_the_blocks_of_its_replies_back() -> None:
    """PRV-6: another model had another cap; what was made meanwhile is stale in its turn."""
    log = asked()
    log.switch(protected=1, high_water=9_000, max_result_tokens=50)
    said(log, 3)
    assert blocks(log.window()) == ["<sig3>"]
    log.switch(protected=1, high_water=9_000)
    assert blocks(log.window()) == ["<sig1>", "<sig2>"]
    said(log, 4)
    assert blocks(log.window()) == ["<sig1>", "<sig2>", "<sig4>"]


def test_what_changed_meanwhile_stays_changed() -> None:
    log = asked()
    log.switch(protected=1, high_water=9_000, max_result_tokens=50)
    log.fold(6)
    log.switch(protected=1, high_water=9_000)
    assert blocks(log.window()) == ["<sig1>"]


def test_restored_entry_makes_replies_stale_that_were_made_without_it() -> None:
    log = asked()
    log.edit(6, "drop")
    said(log, 3)
    assert "<sig3>" in blocks(log.window())
    log.edit(6, "restore")
    assert "<sig3>" not in blocks(log.window())


def test_restored_result_brings_its_reply_back_before_what_was_made_without_both() -> None:
    """The first change is the reply's, though the person named its late result."""
    log = LogBuilder(protected=1, high_water=9_000)
    log.user("go")
    reply = log.reply("words " * 200, Call("a", "shell", "{}"))
    result = log.result("a", "out")
    log.user("and")
    _, window = log.request(Shape(high_water=log.window().estimate - 100))
    assert {reply.seq, result.seq} <= window.elided
    log.reply(Block("thinking", "o", "sig1"), "ok")
    assert blocks(log.window()) == ["<sig1>"]
    log.edit(result.seq, "restore")
    assert blocks(log.window()) == []


def test_change_behind_a_reply_leaves_its_blocks() -> None:
    log = asked()
    log.fold(log.events[-1].seq)
    assert blocks(log.window()) == ["<sig1>", "<sig2>"]


def test_resume_under_the_same_recipe_costs_no_block() -> None:
    """PERF-5: also where only the marks of the window became others."""
    log = asked()
    log.resume()
    log.resume(protected=1, high_water=8_000)
    assert blocks(log.window()) == ["<sig1>", "<sig2>"]


def test_elision_makes_later_replies_stale_at_once_and_for_good() -> None:
    log = asked()
    log.user("on")
    _, trimmed = log.request(Shape(high_water=log.window().estimate - 50))
    assert blocks(trimmed) == ["<sig1>"], "what left stood behind the first reply"
    said(log, 3)
    assert blocks(log.window()) == ["<sig1>", "<sig3>"]


def test_image_that_is_withheld_from_now_on_makes_later_replies_stale() -> None:
    log = asked()
    withheld = Shape(withheld={"ab": "refused"})
    assert blocks(log.window(withheld)) == []
    log.request(withheld)
    log.reply(Block("thinking", "o", "sig3"), "ok")
    assert blocks(log.window(withheld)) == ["<sig3>"]
    assert blocks(log.window()) == [], "shown again: changed again"
    assert blocks(log.window(Shape(withheld={"ab": "missing"}))) == [], "another line says why"


def test_image_that_was_never_sent_changes_nothing_before_it() -> None:
    log = asked()
    log.image("cd")
    log.user("see")
    log.request(Shape(withheld={"cd": "no-vision"}))
    log.reply("ok")
    assert blocks(log.window(Shape(withheld={"cd": "no-vision"}))) == ["<sig1>", "<sig2>"]


def test_fold_recorded_while_a_reply_was_on_its_way_makes_it_stale() -> None:
    """The reply was made to what its request showed, not to what the log held when it came."""
    log = asked()
    request, _ = log.request()
    log.fold(6)
    log.reply(Block("thinking", "o", "sig3"), "ok", req=request.seq)
    assert "<sig3>" not in blocks(log.window())


def test_blocks_that_do_not_go_back_are_not_counted() -> None:
    """ENG-14: a window is trimmed for what it sends."""
    log = asked()
    log.request()
    log.reply(Block("thinking", "o", "s" * 3_000), "ok")
    log.fold(6)
    window = log.window()
    assert window.estimate < 1_000
    assert log.window(Shape(high_water=window.estimate)).newly == ()


DETAILS = Block("reasoning_details", "o", "sig0")


@pytest.mark.parametrize(
    ("keep", "kept"),
    [
        (True, ["<sig0>", "<sig1>", "<sig2>"]),
        ("latest", ["<sig0>", "<sig2>"]),
        (False, ["<sig0>"]),
    ],
)
def test_recipe_says_whose_opaque_reasoning_goes_back(keep: KeepReasoning, kept: list[str]) -> None:
    """ORD-7, PRV-5: every reply's, the latest one's, nobody's; no setting is about
    `reasoning_details`.
    """
    log = LogBuilder(high_water=9_000, keep_reasoning=keep)
    log.user("go")
    log.reply(DETAILS, Call("c0", "shell", "{}"))
    log.result("c0")
    said(log, 1)
    said(log, 2)
    assert blocks(log.window()) == kept
    log.user("on")
    assert blocks(log.window()) == kept, "until the next reply comes"
    log.reply("ok")
    gone = [] if keep is True else ["<sig2>"]
    assert blocks(log.window()) == [sign for sign in kept if sign not in gone]


def test_reasoning_that_is_kept_again_goes_back_where_it_was() -> None:
    """PRV-6: to keep none for a while, on another model say, changes nothing that was sent."""
    log = asked()
    log.switch(protected=1, high_water=9_000, keep_reasoning=False)
    assert blocks(log.window()) == []
    log.switch(protected=1, high_water=9_000)
    assert blocks(log.window()) == ["<sig1>", "<sig2>"]


@pytest.mark.parametrize("keep", [True, "latest", False])
def test_window_that_follows_the_session_drops_the_same_reasoning(keep: KeepReasoning) -> None:
    """ENG-27: with the next reply the latest one's leaves a window that only grew till then."""
    log, rolling = LogBuilder(high_water=9_000, keep_reasoning=keep), Rolling()
    log.user("go")
    fed = 0
    for number in range(4):
        said(log, number)
        for event in log.events[fed:]:
            if isinstance(event, ev.LlmRequest):
                assert rolling.window(log.recipe).digest == event.digest
            rolling.feed(event)
        fed = len(log.events)
        assert rolling.window(log.recipe).digest == log.window().digest
    assert rolling.rebuilt < 2 or keep == "latest"


def summed_up() -> LogBuilder:
    """Turns with a block each, the first result elided before the second reply was made."""
    log = LogBuilder(protected=1, high_water=9_000)
    log.user("one")
    said(log, 1)
    log.user("two")
    log.request(Shape(high_water=log.window().estimate - 1))
    log.reply(Block("thinking", "o", "sig2"), "ok")
    for turn in ("three", "four", "five"):
        log.user(turn)
        log.reply("ok")
    assert blocks(log.window()) == ["<sig1>", "<sig2>"]
    return log


def test_summary_brings_back_what_was_elided_before_it() -> None:
    """ENG-15: so a reply that was made without that is stale, though it stands before the span."""
    log = summed_up()
    three = next(e for e in log.events if isinstance(e, ev.UserMessage) and e.text == "three")
    added = log.summary(three.seq, three.seq + 1)
    assert blocks(log.window()) == ["<sig1>"]
    log.request()
    log.reply(Block("thinking", "o", "sig3"), "ok")
    log.add(ev.SummaryRevoke(target=added.seq))
    assert blocks(log.window()) == ["<sig1>"]


def test_summary_and_its_revocation_leave_blocks_before_the_span() -> None:
    log = asked()
    for turn in ("three", "four", "five"):
        log.user(turn)
        log.reply("ok")
    three = next(e for e in log.events if isinstance(e, ev.UserMessage) and e.text == "three")
    added = log.summary(three.seq, three.seq + 1)
    assert blocks(log.window()) == ["<sig1>", "<sig2>"]
    log.add(ev.SummaryRevoke(target=added.seq))
    assert blocks(log.window()) == ["<sig1>", "<sig2>"]
