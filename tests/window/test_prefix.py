"""The cache arithmetic (ENG-28)."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import NamedTuple

import pytest

from nodwyn_tui.domain import events as ev
from nodwyn_tui.domain.events import Parameters
from nodwyn_tui.domain.parts import Block, Call, Thinking
from nodwyn_tui.domain.recipe import KeepReasoning
from nodwyn_tui.domain.usage import Usage
from nodwyn_tui.window import handover
from nodwyn_tui.window.build import ORDINARY, Shape, build
from nodwyn_tui.window.contexts import Place
from nodwyn_tui.window.prefix import Cache, New, Prediction, leaves_thinking_out, predict
from nodwyn_tui.window.prompts import (
    HEAD,
    REMEMBERED,
    Sent,
    prompt_of,
    remember,
    sent,
    shared,
)
from nodwyn_tui.window.watch import Watch
from tests.builders import MODEL, LogBuilder, recipe

PARAMETERS = Parameters()


class Foretold(NamedTuple):
    cached: int | None
    ended_by: str | None


def watching(events: Sequence[ev.Event]) -> Watch:
    watch = Watch()
    for event in events:
        watch.feed(event)
    return watch


def ask(
    log: LogBuilder,
    earlier: list[Sent],
    *,
    reported: int | None = 300,
    origin: str = MODEL.origin,
    parameters: Parameters = PARAMETERS,
    shape: Shape = ORDINARY,
    purpose: ev.Purpose = "turn",
    **cache: bool,
) -> Foretold:
    """Predicts the next request, then remembers it."""
    event, window = log.request(shape, purpose)
    prompt = prompt_of(window)
    first = next((n for n, e in enumerate(window.entries, HEAD) if e.seq in window.newly), None)
    new = New(
        prompt=prompt, origin=origin, parameters=parameters, trimmed=first,
        withheld=frozenset(shape.withheld.items()),
    )  # fmt: skip
    prediction = predict(earlier, new, watching(log.events[:-1]), Cache(**cache))
    event = dataclasses.replace(
        event, model=dataclasses.replace(MODEL, origin=origin), parameters=parameters
    )
    earlier[:] = remember(earlier, sent(event, prompt, reported))
    return Foretold(prediction.cached, prediction.ended_by)


def test_first_request_predicts_nothing() -> None:
    log = LogBuilder()
    log.user()
    assert ask(log, []) == Foretold(None, "first")


def test_appended_request_reads_the_whole_earlier_prompt() -> None:
    log, earlier = LogBuilder(), []
    log.user()
    ask(log, earlier, reported=321)
    log.reply("ok")
    log.user()
    assert ask(log, earlier) == Foretold(321, None)


def test_without_a_report_the_estimate_stands_in() -> None:
    log, earlier = LogBuilder(), []
    log.user()
    estimate = log.window().estimate
    ask(log, earlier, reported=None)
    log.reply("ok")
    log.user()
    assert ask(log, earlier) == Foretold(estimate, None)


def test_trim_is_named_and_only_what_stands_before_it_counts() -> None:
    log, earlier = LogBuilder(), []
    log.user()
    for step in range(9):
        prediction = ask(log, earlier, reported=1_000)
        log.exchange(f"c{step}", "x" * 700)
        log.events.pop(-4)  # the exchange's own request: this test asks by itself
        if prediction.ended_by == "trim":
            break
    assert prediction.ended_by == "trim"
    assert 0 < (prediction.cached or 0) < 1_000


def test_clear_resume_and_switches_are_named() -> None:
    log, earlier = LogBuilder(), []
    log.user()
    ask(log, earlier)
    log.add(ev.WindowReset(kind="manual", reason="clear"))
    log.user("new")
    cleared = ask(log, earlier)
    assert cleared.ended_by == "clear"
    assert (cleared.cached or 0) > 0, "the system text and the catalogue are still there"
    log.reply("ok")
    log.user("other")
    assert ask(log, earlier, origin="t/other") == Foretold(0, "model_switch")
    log.reply("ok")
    log.user("back")
    assert ask(log, earlier).ended_by is None, "the first origin still has its own prefix"
    changed = ask(log, earlier, parameters=Parameters(num_ctx=9))
    assert changed == Foretold(0, "parameter_switch")


def asked_for_a_note(one_slot: bool) -> tuple[LogBuilder, list[Sent], ev.Note, Foretold]:
    """A session over its mark in which a handover note was asked for, with headroom."""
    log, earlier = LogBuilder(), []
    log.user()
    for step in range(3):
        ask(log, earlier, one_slot=one_slot)
        log.reply(Call(f"c{step}", "shell", "{}"))
        log.result(f"c{step}", "x" * 1_000)
    log.user("x" * 3_500)
    asked = log.add(handover.request(log.recipe, log.carrying.now))
    shape = Shape(high_water=log.recipe.window.ceiling)
    made = ask(log, earlier, one_slot=one_slot, shape=shape, purpose="handover")
    log.reply("the note")
    return log, earlier, asked, made


@pytest.mark.parametrize("one_slot", [False, True])
def test_a_compaction_is_named_and_reads_the_prompt_it_replaces(one_slot: bool) -> None:
    """AGT-16: the request for the note reads all from the cache; the next one begins anew."""
    log, earlier, _, made = asked_for_a_note(one_slot)
    assert made == Foretold(300, None)
    log.hand_over("the note")
    assert ask(log, earlier, one_slot=one_slot).ended_by == "compaction"


@pytest.mark.parametrize("one_slot", [False, True])
def test_a_note_asked_for_in_vain_is_no_cause_of_a_trim(one_slot: bool) -> None:
    log, earlier, asked, _ = asked_for_a_note(one_slot)
    log.rewind(asked.seq, "undo")
    assert ask(log, earlier, one_slot=one_slot).ended_by == "trim"


@pytest.mark.parametrize("one_slot", [False, True])
def test_a_note_asked_for_in_vain_costs_no_prefix(one_slot: bool) -> None:
    """All is read again but the message that was taken back."""
    log, earlier = LogBuilder(), []
    log.user()
    ask(log, earlier, one_slot=one_slot)
    log.reply("ok")
    log.user("x" * 600)
    asked = log.add(handover.request(log.recipe, log.carrying.now))
    ask(log, earlier, one_slot=one_slot, reported=600, purpose="handover")
    whole = log.window().tape.trail[-1].end
    log.rewind(asked.seq, "undo")
    after = ask(log, earlier, one_slot=one_slot)
    assert after == Foretold(600 * log.window().tape.trail[-1].end // whole, "rewind")


def reasoned(log: LogBuilder, number: int) -> None:
    """A reply with opaque reasoning before its call, and the result."""
    log.reply(Block("reasoning", "o", f"enc{number} " * 50), Call(f"c{number}", "shell", "{}"))
    log.result(f"c{number}", "out " * 50)


def test_latest_only_reasoning_ends_the_prefix_where_it_stood() -> None:
    """ORD-7: all up to the reply that lost its own is still read."""
    log, earlier = LogBuilder(high_water=9_000, keep_reasoning="latest"), []
    log.user()
    words = []
    for number in range(4):
        prediction = ask(log, earlier, reported=1_000)
        words.append(prediction.ended_by)
        reasoned(log, number)
    assert words == ["first", None, "reasoning", "reasoning"]
    assert 0 < (prediction.cached or 0) < 1_000


@pytest.mark.parametrize("now", [False, "latest"])
def test_reasoning_that_goes_back_no_more_is_a_switch_of_parameters(now: KeepReasoning) -> None:
    log, earlier = LogBuilder(high_water=9_000), []
    log.user()
    for number in range(2):
        reasoned(log, number)
    ask(log, earlier, reported=1_000)
    log.reply("ok")
    log.resume(high_water=9_000, keep_reasoning=now)
    log.user("on")
    prediction = ask(log, earlier)
    assert prediction.ended_by == "parameter_switch"
    assert 0 < (prediction.cached or 0) < 1_000
    log.clear()
    log.user("anew")
    ask(log, earlier)
    log.resume(high_water=9_000)
    log.user("on")
    assert ask(log, earlier).ended_by is None, "no reply of this window has any"


def changed_by(change: Callable[[LogBuilder], object], shape: Shape = ORDINARY) -> Foretold:
    """What is predicted after a change, with a resume and another request's worth behind it."""
    log, earlier = LogBuilder(protected=1), []
    log.image("ab")
    log.user("one")
    log.reply(Call("a", "shell", "{}"))
    log.result("a", "out " * 90)
    log.user("two")
    ask(log, earlier, reported=500)
    log.reply("ok")
    change(log)
    log.resume()
    log.user("on")
    return ask(log, earlier, shape=shape)


def rerecord(log: LogBuilder, **changes: int) -> None:
    """The recipe changed in mid-session."""
    log.recipe = recipe(**changes)
    log.add(ev.SessionRecipe(session="s", workspace="/w", app="t", recipe=log.recipe))


@pytest.mark.parametrize(
    ("word", "change"),
    [
        (None, lambda log: None),
        (None, lambda log: log.resume(protected=1, high_water=1_900)),
        ("fold", lambda log: log.fold(6)),
        ("edit", lambda log: log.edit(6, "drop")),
        ("rewind", lambda log: log.rewind(7)),
        ("clear", lambda log: log.clear()),
        ("rollover", lambda log: log.add(ev.WindowReset(kind="rollover", rollover_id="r"))),
        ("model_switch", lambda log: rerecord(log, max_result_tokens=20)),
        ("compaction", lambda log: log.compact()),
        ("resume", lambda log: log.resume(system="Other.")),
    ],
)
def test_event_that_changed_the_shared_part_is_named(
    word: str | None, change: Callable[[LogBuilder], object]
) -> None:
    """The earliest one: a clear followed by a resume is a clear."""
    prediction = changed_by(change)
    assert prediction.ended_by == word
    assert (prediction.cached == 500) == (word is None)


def test_change_of_what_came_later_ends_nothing() -> None:
    """A fold of a result that the earlier request had not shown."""
    log, earlier = LogBuilder(), []
    log.user()
    ask(log, earlier, reported=500)
    log.reply(Call("a", "shell", "{}"))
    log.fold(log.result("a").seq)
    assert ask(log, earlier) == Foretold(500, None)


def test_summary_and_withheld_image_are_named() -> None:
    assert changed_by(lambda log: None, Shape(withheld={"ab": "missing"})).ended_by == (
        "withheld_image"
    )
    log, earlier = LogBuilder(), []
    for turn in range(4):
        log.user(f"ask {turn}")
        log.reply("ok")
    ask(log, earlier)
    log.summary(2, 3)
    assert ask(log, earlier).ended_by == "summary"


def test_image_that_is_withheld_from_the_first_on_ends_nothing() -> None:
    log, earlier = LogBuilder(), []
    log.user()
    ask(log, earlier, reported=500)
    log.reply("ok")
    log.image("cd")
    withheld = Shape(withheld={"cd": "no-vision"})
    assert ask(log, earlier, shape=withheld) == Foretold(500, None)


def test_other_tools_are_a_switch_of_parameters() -> None:
    prediction = changed_by(lambda log: None, Shape(no_tools=True))
    assert prediction.ended_by == "parameter_switch"
    assert (prediction.cached or 0) > 0, "the system text is still there"


def test_trim_of_a_request_that_got_no_reply_is_named() -> None:
    """Its process died: the resume behind it did not end the prefix, the trim did."""
    log, earlier = LogBuilder(), []
    log.user()
    log.exchange("c", "x" * 700)
    ask(log, earlier)
    for step in range(9):
        log.exchange(f"c{step}", "x" * 700)
    assert any(isinstance(event, ev.LlmRequest) and event.elided for event in log.events)
    log.resume()
    log.user("on")
    assert ask(log, earlier).ended_by == "trim"


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"asked": False}, Foretold(0, None)),
        ({"expired": True}, Foretold(0, "likely_expiry")),
    ],
    ids=["not asked for", "expired"],
)
def test_cache_that_holds_nothing(facts: dict[str, bool], expected: Foretold) -> None:
    log, earlier = LogBuilder(), []
    log.user()
    ask(log, earlier)
    log.reply("ok")
    assert ask(log, earlier, **facts) == expected


def test_what_is_remembered_does_not_grow_with_the_session() -> None:
    log, earlier = LogBuilder(), []
    log.user()
    for step in range(30):
        ask(log, earlier, origin="s/m-1" if step % 3 else "t/other")
        log.reply("ok")
    assert [sent.origin for sent in earlier].count("s/m-1") == REMEMBERED
    began = 1
    assert [sent.origin for sent in earlier].count("t/other") == REMEMBERED + began
    assert [sent.seq for sent in earlier] == sorted(sent.seq for sent in earlier)


def test_shared_part_is_that_of_the_leading_pieces() -> None:
    """A piece that comes again behind another one is not shared."""
    log, other = LogBuilder(task_header=""), LogBuilder(task_header="")
    for text in ("a", "b", "c"):
        log.user(text)
    for text in ("a", "x", "c"):
        other.user(text)
    one, two = log.window().trail, other.window().trail
    assert shared(one, two) == HEAD + 1
    assert shared(one, one) == HEAD + 3
    assert shared(one, LogBuilder(system="Other.").window().trail) == 0


def test_model_that_took_the_slot_leaves_nothing() -> None:
    log, earlier = LogBuilder(), []
    log.user()
    ask(log, earlier, one_slot=True)
    ask(log, earlier, one_slot=True, origin="s/m-2")
    assert ask(log, earlier, one_slot=True) == Foretold(0, "model_switch")


def test_one_slot_server_holds_only_its_last_request() -> None:
    log, earlier = LogBuilder(), []
    log.user("long history " * 20)
    ask(log, earlier, reported=500)
    log.add(ev.ContextOpen(id=9, parent=0, kind="subagent", system="something else"))
    other = build(log.events, log.recipe, at=Place(9, 0))
    aside = log.add(
        ev.LlmRequest(
            ctx=9, model=MODEL, parameters=PARAMETERS, digest=other.digest, estimate=other.estimate
        )
    )
    earlier = remember(earlier, sent(aside, prompt_of(other), 50))
    log.reply("ok")
    log.user()
    assert (ask(log, earlier[:], one_slot=True).cached or 0) < 50
    assert ask(log, earlier).cached == 500


def test_watch_that_goes_along_knows_what_one_of_the_whole_log_does() -> None:
    """What it was told to forget leaves no trace in the rest."""
    log, along = LogBuilder(protected=1), Watch()
    log.image("ab")
    log.user("one")
    log.reply(Call("a", "shell", "{}"))
    log.result("a", "out " * 90)
    requests = [log.request()[0].seq]
    log.reply("ok")
    log.fold(5)
    requests.append(log.request(Shape(withheld={"ab": "missing"}))[0].seq)
    log.user("two")
    requests.append(log.request()[0].seq)
    log.clear()
    log.user("three")
    requests.append(log.request()[0].seq)
    for event in log.events:
        along.feed(event)
        along.keep(requests[1:])
    whole = watching(log.events)
    words = [whole.ended(seq, frozenset()) for seq in requests]
    assert words == ["fold", "withheld_image", "clear", None]
    assert [along.ended(seq, frozenset()) for seq in requests[1:]] == words[1:]


def thoughtful() -> tuple[LogBuilder, list[Sent]]:
    """A run of two requests with thinking in between, and the next run's message behind it."""
    log, earlier = LogBuilder(), []
    log.user("one")
    ask(log, earlier, reported=400)
    log.reply(Thinking("hm " * 300), Call("a", "shell", "{}"))
    log.result("a")
    ask(log, earlier, reported=700)
    log.reply(Thinking("ah " * 300), "done")
    log.user("two")
    return log, earlier


def predicted(log: LogBuilder, earlier: list[Sent], **cache: bool) -> Prediction:
    new = New(prompt=prompt_of(log.window()), origin=MODEL.origin, parameters=PARAMETERS)
    return predict(earlier, new, watching(log.events), Cache(**cache))


def test_template_that_rewrites_ends_the_prefix_at_the_former_runs_first_thinking() -> None:
    """ENG-28: what stands before that was counted by the request that the run began with."""
    log, earlier = thoughtful()
    unknown = predicted(log, earlier)
    assert (unknown.cached, unknown.ended_by) == (700, None)
    known = predicted(log, earlier, rewrites=True)
    assert (known.cached, known.ended_by, known.pieces) == (400, "template", HEAD + 1)
    alone = predicted(log, earlier[1:], rewrites=True)
    assert alone.cached == earlier[1].tokens_of(HEAD + 1), "by its share where none counted it"


def test_template_changes_nothing_within_a_run() -> None:
    log, earlier = LogBuilder(), []
    log.user("one")
    ask(log, earlier, reported=400)
    log.reply(Thinking("hm " * 300), Call("a", "shell", "{}"))
    log.result("a")
    ask(log, earlier, reported=700)
    log.reply(Thinking("ah " * 300), Call("b", "shell", "{}"))
    log.result("b")
    assert ask(log, earlier, rewrites=True) == (700, None)


def test_template_takes_nothing_where_the_prefix_ended_before_the_thinking() -> None:
    log, earlier = thoughtful()
    log.clear()
    log.user("three")
    assert ask(log, earlier, rewrites=True).ended_by == "clear"


@pytest.mark.parametrize(
    ("counted", "left_out"), [(None, False), (900, False), (700, False), (600, True), (40, False)]
)
def test_thinking_is_left_out_where_a_prompt_got_shorter_by_no_more_than_it(
    counted: int | None, left_out: bool
) -> None:
    log, earlier = thoughtful()
    usage = Usage(prompt_tokens=counted)
    assert leaves_thinking_out(predicted(log, earlier), usage) is left_out
    assert not leaves_thinking_out(predicted(log, earlier, rewrites=True), usage)


def test_request_that_the_run_began_with_is_remembered() -> None:
    log, earlier = LogBuilder(high_water=90_000), []
    log.user()
    ask(log, earlier, reported=400)
    for step in range(20):
        log.reply(Thinking("hm"), Call(f"c{step}", "shell", "{}"))
        log.result(f"c{step}")
        ask(log, earlier)
    assert len(earlier) == REMEMBERED + 1
    log.reply("ok")
    log.user("next")
    assert predicted(log, earlier, rewrites=True).cached == 400
