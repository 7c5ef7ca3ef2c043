"""When a window is warned of, left, or blocked: told by the log alone (ROL-2 to ROL-5, ROL-10)."""

import dataclasses
from collections.abc import Sequence

import pytest
from hypothesis import given

from nodwyn_tui.domain import events as ev
from nodwyn_tui.domain.parts import Call
from nodwyn_tui.domain.recipe import WindowLimits
from nodwyn_tui.domain.usage import Usage
from nodwyn_tui.window import lead_in
from nodwyn_tui.window.budget import (
    NO_HISTORY,
    TOO_SMALL,
    Blocked,
    Budget,
    Decision,
    Marks,
    Reason,
    RollOver,
    Warn,
    marks,
    warning_room,
)
from nodwyn_tui.window.build import UNTRIMMED
from nodwyn_tui.window.contexts import StartTracker, narrow
from tests.builders import LogBuilder
from tests.generated import EACH_EVENT, STEPS, Step, played

CEILING = 10_000
"""Warned of at 6,000, left at 7,500."""


class Session(LogBuilder):
    """A rollover session whose server reports what a request had."""

    def __init__(self, **changes: object) -> None:
        wanted = {"ceiling": CEILING, "strategy": "rollover", "max_result_tokens": 2_000}
        super().__init__(**wanted | changes)

    def step(self, prompt: int | None, output: int | None = 0, result: str = "") -> None:
        """A request, its reply with a call, and the result."""
        request, _ = self.request(UNTRIMMED)
        call = f"c{request.seq}"
        usage = Usage(prompt_tokens=prompt, output_tokens=output)
        parts = (Call(call, "shell", "{}"),)
        self.add(ev.LlmResponse(req=request.seq, parts=parts, finish="calls", usage=usage))
        self.result(call, result)

    def decide(
        self, reason: Reason = "mid-run", *, history: bool = True, counted: int = 0
    ) -> Decision:
        window = self.window(UNTRIMMED)
        return self.budget.decide(reason, window, self.recipe, history=history, counted=counted)

    def left(self, reason: Reason = "mid-run", *trigger: ev.Event) -> RollOver:
        """Rolls over as decided."""
        over = self.decide(reason)
        assert isinstance(over, RollOver)
        rows = trigger or (lead_in.CONTINUE,)
        drafts = lead_in.batch(over, self.carrying.now, self.recipe, rows)
        assert self.budget.fault(drafts) == ""
        for draft in drafts:
            self.add(draft)
        return over


def filled(prompt: int, **changes: object) -> Session:
    """Two steps of a run; the last request had `prompt` tokens."""
    log = Session(**changes)
    log.user("mend it")
    log.step(100)
    log.step(prompt)
    return log


@pytest.mark.parametrize(
    ("threshold", "found"),
    [
        (0.70, Marks(6_000, 7_500, CEILING)),
        (0.97, Marks(8_700, CEILING, CEILING)),
        (0.05, Marks(0, 1_000, CEILING)),
        (0.999, Marks(8_990, CEILING, CEILING)),
        (1.0, None),
        (2.5, None),
    ],
)
def test_marks_are_shares_of_the_ceiling(threshold: float, found: Marks | None) -> None:
    """ROL-2, ROL-10: five in a hundred above the threshold, ten below, never over the ceiling; a
    threshold of 1 switches it off.
    """
    limits = WindowLimits(
        high_water=1, low_water=1, ceiling=CEILING, max_result_tokens=1, output_reserve=1,
        threshold=threshold,
    )  # fmt: skip
    assert marks(limits) == found


def test_unknown_context_is_neither_zero_nor_endless() -> None:
    """ROL-6."""
    limits = dataclasses.replace(Session().recipe.window, ceiling=0)
    assert marks(limits) is None


@pytest.mark.parametrize(
    ("prompt", "found"),
    [
        (5_998, type(None)),
        (5_999, Warn),
        (7_498, Warn),
        (7_499, RollOver),
        (99_999, RollOver),
    ],
)
def test_a_settled_step_warns_then_rolls_over(prompt: int, found: type) -> None:
    """ROL-2, ROL-3: the empty result shows as `(no output)`, three tokens."""
    log = filled(prompt - 2)
    assert log.budget.projection(log.window(UNTRIMMED)) == prompt + 1
    assert isinstance(log.decide(), found)


@pytest.mark.parametrize(("ceiling", "room"), [(CEILING, 1_250), (6_144, 768), (100_000, 3_072)])
def test_a_warning_is_given_where_its_turn_still_fits(ceiling: int, room: int) -> None:
    """ROL-3: an eighth of a small window, so that it is warned of too."""
    assert warning_room(ceiling) == room
    for prompt, found in ((ceiling - room - 3, Warn), (ceiling - room - 2, type(None))):
        log = filled(prompt, ceiling=ceiling)
        window = dataclasses.replace(log.recipe.window, threshold=0.95)
        recipe = dataclasses.replace(log.recipe, window=window)
        assert isinstance(log.budget.decide("mid-run", log.window(UNTRIMMED), recipe), found)


def test_projection_counts_output_results_images_and_what_is_typed() -> None:
    """ROL-2, ROL-4: a result as it is shown, cut at its cap; a character is a quarter token."""
    log = Session(max_result_tokens=400)
    log.user("look")
    request, _ = log.request(UNTRIMMED)
    usage = Usage(prompt_tokens=3_000, output_tokens=70)
    call = Call("a", "shell", "{}")
    log.add(ev.LlmResponse(req=request.seq, parts=(call,), finish="calls", usage=usage))
    seen = ev.ImageRef(sha256="s", mime="image/png", width=5, height=5, tokens=333)
    log.result("a", "word\n" * 5_000, images=(seen,))
    window = log.window(UNTRIMMED)
    shown = log.budget.projection(window) - 3_000 - 70 - 333
    assert 200 < shown <= 400
    log.user("x" * 40, via="steer")
    assert log.budget.projection(log.window(UNTRIMMED)) == 3_000 + 70 + 333 + shown + 10
    log.image(tokens=500)
    label = -(-len("[image shot.png, data]") // 4)
    after = log.budget.projection(log.window(UNTRIMMED))
    assert after == 3_000 + 70 + 333 + shown + 10 + label + 500


def test_what_no_server_reports_is_estimated() -> None:
    """C08."""
    log = Session()
    log.user("y" * 9_000)
    log.step(None, None, "z" * 400)
    window = log.window(UNTRIMMED)
    asked = next(e for e in log.events if isinstance(e, ev.LlmRequest)).estimate
    reply = next(entry for entry in window.entries if entry.kind == "assistant")
    assert log.budget.projection(window) == asked + reply.tokens + 100


def test_a_report_below_the_estimate_counts_for_nothing() -> None:
    """ROL-2."""
    log = Session()
    log.user("y" * 9_000)
    log.step(10, 0)
    asked = next(e for e in log.events if isinstance(e, ev.LlmRequest)).estimate
    assert log.budget.projection(log.window(UNTRIMMED)) == asked + 3


@pytest.mark.parametrize("change", ["edit", "switch", "rewind"])
def test_a_report_of_what_was_changed_since_counts_no_more(change: str) -> None:
    log = filled(7_600)
    assert isinstance(log.decide(), RollOver)
    replies = [e for e in log.events if isinstance(e, ev.LlmResponse)]
    if change == "edit":
        log.edit(replies[0].seq, "drop")
    elif change == "switch":
        log.switch(ceiling=CEILING, strategy="rollover", max_result_tokens=900)
    else:
        log.rewind(replies[1].seq)
    assert log.budget.projection(log.window(UNTRIMMED)) == log.window(UNTRIMMED).estimate
    assert log.decide() is None


def test_a_resume_under_the_same_recipe_decides_the_same() -> None:
    """ROL-4."""
    log = filled(7_600)
    before = log.decide("on-send")
    log.resume()
    assert log.decide("on-send") == before
    assert isinstance(before, RollOver)


def test_the_new_message_counts_on_send() -> None:
    """ROL-4: what it adds decides, before it is recorded."""
    log = filled(7_000)
    typed = ev.UserMessage(text="x" * 2_400, seq=len(log.events) + 1)
    events = [*log.events, typed]
    other = LogBuilder()
    other.events, other.recipe = events, log.recipe
    window = other.window(UNTRIMMED)
    assert isinstance(log.decide("on-send"), Warn)
    assert isinstance(log.budget.decide("on-send", window, log.recipe), RollOver)


def test_a_window_is_warned_of_once() -> None:
    """ROL-3, ROL-5."""
    log = filled(6_200)
    warn = log.decide()
    assert isinstance(warn, Warn)
    row = lead_in.warning(warn, notes=True)
    assert log.budget.fault((row,)) == ""
    assert "second warning" in log.budget.fault((row, row))
    log.add(row)
    assert log.decide() is None
    assert "second warning" in log.budget.fault((row,))
    log.step(7_600)
    over = log.left()
    assert over.flushed
    log.step(100)
    log.step(6_100)
    assert isinstance(log.decide(), Warn)


def test_no_chance_to_flush_without_a_reply_behind_the_warning() -> None:
    """ROL-1: an interrupted one is none."""
    log = filled(6_200)
    log.add(lead_in.warning(Warn(6_200, CEILING), notes=True))
    log.request(UNTRIMMED)
    log.reply("half", finish="interrupted")
    over = log.decide("on-send", counted=8_000)
    assert isinstance(over, RollOver)
    assert not over.flushed


def test_the_chance_that_was_given_stays_given() -> None:
    """ROL-1: unless a rewind takes it back; a request that is refused gives none (ROL-7)."""
    log = filled(6_200)
    first = log.user("before the warning")
    log.add(lead_in.warning(Warn(6_200, CEILING), notes=True))
    log.step(6_300)
    second = log.user("after it")
    log.step(7_600)
    log.rewind(second.seq)
    over = log.decide("on-send", counted=8_000)
    assert isinstance(over, RollOver)
    assert over.flushed
    refused = log.decide("context-exceeded")
    assert isinstance(refused, RollOver)
    assert not refused.flushed
    log.rewind(first.seq)
    over = log.decide("on-send", counted=8_000)
    assert isinstance(over, RollOver)
    assert not over.flushed


def test_replies_that_were_taken_back_fill_no_window() -> None:
    """ROL-5."""
    log = filled(100)
    message = log.user("more")
    log.step(100)
    log.rewind(message.seq)
    over = log.decide("on-send", counted=8_000)
    assert isinstance(over, RollOver)
    assert not over.too_small
    log.rewind([e.seq for e in log.events if isinstance(e, ev.LlmResponse)][1])
    over = log.decide("on-send", counted=8_000)
    assert isinstance(over, RollOver)
    assert over.too_small


def test_a_warning_that_was_taken_back_may_come_again() -> None:
    log = filled(100)
    message = log.user("more")
    log.step(6_200)
    log.add(lead_in.warning(Warn(6_200, CEILING), notes=True))
    assert log.budget.warned
    log.rewind(message.seq)
    assert not log.budget.warned


@pytest.mark.parametrize("strategy", ["trim", "compact"])
def test_other_strategies_are_left_alone(strategy: str) -> None:
    """ROL-10: two never act on one window."""
    log = filled(9_999, strategy=strategy)
    assert log.decide() is None
    assert log.decide("context-exceeded") is None


def test_threshold_of_one_leaves_all_to_the_preflight() -> None:
    """ROL-10."""
    log = filled(9_999)
    limits = dataclasses.replace(log.recipe.window, threshold=1.0)
    log.recipe = dataclasses.replace(log.recipe, window=limits)
    assert log.decide() is None
    assert log.decide("context-exceeded") is None


def test_a_window_with_only_internal_rows_is_fresh() -> None:
    """ROL-5: whatever its size; the message is then sent, or its preflight blocks it."""
    log = Session()
    assert log.decide("on-send", counted=99_999) is None
    log.user("mend it")
    log.step(100)
    log.step(8_000)
    log.left()
    torn = Session()
    for event in log.events[:-1]:
        torn.add(dataclasses.replace(event, seq=0))
    assert isinstance(torn.events[-1], ev.WindowLeadIn)
    torn.add(lead_in.warning(Warn(6_000, CEILING), notes=True))
    assert torn.decide("on-send", counted=99_999) is None
    assert "fresh already" in torn.budget.fault(torn.rollover(ev.UserMessage(text="typed")))
    torn.user("typed")
    assert isinstance(torn.decide("on-send", counted=99_999), RollOver)


def test_a_refused_request_rolls_over_where_something_older_stands() -> None:
    """ROL-7: else the same would be asked again."""
    log = Session()
    log.user("long")
    log.image(tokens=9)
    log.request(UNTRIMMED)
    assert log.decide("context-exceeded") is None
    log.reply("ok")
    again = log.user("more")
    log.request(UNTRIMMED)
    over = log.left("context-exceeded", dataclasses.replace(again, seq=0))
    assert (over.reason, over.flushed) == ("context-exceeded", False)
    log.request(UNTRIMMED)
    assert log.decide("context-exceeded") is None


def test_two_windows_in_a_row_that_one_reply_fills_are_blocked() -> None:
    """ROL-5: with the figures. A clear, or a window that held more, ends the row; and what the
    person says next is sent as long as it fits.
    """
    log = Session()
    log.user("mend it")
    log.step(8_000)
    assert log.left().too_small
    log.step(8_100)
    blocked = log.decide()
    assert isinstance(blocked, Blocked)
    assert blocked.reason == TOO_SMALL
    event = blocked.event()
    assert event.figures["tokens"] == 8_103
    assert event.figures["ceiling"] == CEILING
    assert event.remedies
    log.resume()
    assert log.decide() == blocked
    assert log.decide("on-send") is None
    assert isinstance(log.decide("on-send", counted=CEILING + 1), Blocked)
    log.step(8_200)
    assert not log.left().too_small
    log.step(8_000)
    assert log.left().too_small
    log.clear()
    log.user("again")
    log.step(8_000)
    assert log.left().too_small


def test_denied_history_blocks_a_rollover() -> None:
    """ROL-11: rather than losing access silently; a fresh window is used all the same."""
    log = filled(8_000)
    blocked = log.decide(history=False)
    assert isinstance(blocked, Blocked)
    assert blocked.reason == NO_HISTORY
    assert "session_history" in blocked.event().remedies[0]
    assert Session().decide("on-send", history=False, counted=9_000) is None


def test_windows_and_rollovers_are_named_by_where_they_begin() -> None:
    """ROL-1, ROL-11."""
    log = filled(8_000)
    assert (log.budget.window, log.budget.rollover_id) == ("w:0", "r:0")
    log.left()
    reset = next(e for e in log.events if isinstance(e, ev.WindowReset))
    assert (reset.previous_window, reset.rollover_id) == ("w:0", "r:0")
    assert log.budget.window == f"w:{reset.seq}"
    opened = log.compact()
    assert log.budget.window == f"w:{opened.seq}"
    log.widen(opened)
    assert log.budget.window == f"w:{reset.seq}"


def test_an_undone_compaction_brings_back_what_the_window_had_seen() -> None:
    log = filled(8_000)
    before = log.decide("on-send")
    opened = log.compact()
    assert log.decide("on-send") is None
    log.widen(opened)
    assert log.decide("on-send") == before


def test_a_question_for_a_handover_note_is_no_reply_of_the_window() -> None:
    log = Session()
    log.user("mend it")
    log.step(8_000)
    log.request(UNTRIMMED, "handover")
    log.reply("the note")
    over = log.decide()
    assert isinstance(over, RollOver)
    assert over.too_small


def test_a_batch_that_is_no_rollover_is_refused() -> None:
    """ROL-5: asserted at append."""
    log = filled(8_000)
    reset, lead, say = log.rollover()
    assert isinstance(reset, ev.WindowReset)
    assert isinstance(lead, ev.WindowLeadIn)
    other = dataclasses.replace(reset, rollover_id="r:7")
    elsewhere = dataclasses.replace(lead, rollover_id="r:7")
    warned = lead_in.warning(Warn(1, 2), notes=True)
    wrong: Sequence[tuple[tuple[ev.Event, ...], str]] = (
        ((reset, lead), "stands its input"),
        ((reset, say), "begins with one reset"),
        ((lead, say), "begins with one reset"),
        ((reset, lead, lead, say), "begins with one reset"),
        ((reset, lead, reset, lead, say), "begins with one reset"),
        ((say, reset, lead), "begins with one reset"),
        ((reset, lead, warned, say), "no warning"),
        ((other, elsewhere, say), "is to be left"),
        ((reset, elsewhere, say), "another rollover"),
    )
    for drafts, told in wrong:
        assert told in log.budget.fault(drafts)
    assert log.budget.fault((reset, lead, say)) == ""
    assert log.budget.fault((ev.WindowReset(kind="manual"),)) == ""
    for draft in (reset, lead, say):
        log.add(draft)
    assert "w:0, where w:" in log.budget.fault((reset, lead, say))


@EACH_EVENT
@given(STEPS)
def test_the_window_s_own_events_decide_as_the_whole_log_does(steps: list[Step]) -> None:
    """ROL-4, ENG-23: at every point, so after a restart at any."""
    session = played(steps)
    tracker, budget = StartTracker(), Budget()
    recipe = dataclasses.replace(session.recipe, strategy="rollover")
    window = session.window()
    for seq, event in enumerate(session.events, 1):
        tracker.feed(event)
        budget.feed(event)
        if not isinstance(event, ev.LlmRequest | ev.WindowReset | ev.WindowRewind):
            continue
        again = Budget()
        for earlier in session.events[:seq]:
            if tracker.needs(earlier.seq):
                again.feed(earlier)
        assert (again.window, again.warned) == (budget.window, budget.warned)
        reasons: tuple[Reason, ...] = ("on-send", "mid-run", "context-exceeded")
        for reason in reasons:
            assert again.decide(reason, window, recipe) == budget.decide(reason, window, recipe)


@EACH_EVENT
@given(STEPS)
def test_what_a_rewind_takes_out_counts_no_more(steps: list[Step]) -> None:
    """ROL-4: what stands in the window then decides, as if nothing else had been said in it."""
    session = played(steps)
    budget, tracker = Budget(), StartTracker()
    for seq, event in enumerate(session.events, 1):
        budget.feed(event)
        tracker.feed(event)
        if isinstance(event, ev.WindowRewind):
            place, again = tracker.place, Budget()
            kept = {earlier.seq for earlier in narrow(session.events[:seq], place)}
            for earlier in session.events[:seq]:
                if earlier.seq in {*kept, place.since}:
                    again.feed(earlier)
            assert again.window == budget.window
            assert again.warned == budget.warned
            assert again.is_fresh("on-send") == budget.is_fresh("on-send")


@EACH_EVENT
@given(STEPS)
def test_no_session_has_a_second_rollover_of_a_window(steps: list[Step]) -> None:
    """ROL-5."""
    resets = [e for e in played(steps).events if isinstance(e, ev.WindowReset)]
    ids = [reset.rollover_id for reset in resets if reset.kind == "rollover"]
    assert len(ids) == len(set(ids))


def test_what_nobody_has_answered_yet_is_left_only_where_it_cannot_be_sent() -> None:
    """ROL-5: several messages before a reply fill no window by themselves; over the ceiling it is
    left, and that makes it no window that a single reply has filled.
    """
    log = Session()
    log.user("x" * 24_000)
    assert log.decide("on-send") is None or isinstance(log.decide("on-send"), Warn)
    log.user("x" * 9_000, via="steer")
    over = log.decide("on-send")
    assert isinstance(over, RollOver)
    assert over.tokens >= CEILING
    assert not over.too_small
