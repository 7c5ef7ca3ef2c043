"""Recorded sessions under `compact`, and compacted ones under `trim` (ENG-30, AGT-16)."""

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nodwyn_tui.domain import events as ev
from nodwyn_tui.lab.cache_models import CACHE_MODELS
from nodwyn_tui.lab.compactions import ASSUMED_NOTE, assumed_note, without_compactions
from nodwyn_tui.lab.measures import Prices, Source, measure
from nodwyn_tui.lab.policies import LabPolicy
from nodwyn_tui.lab.replays import Refolded, refold
from nodwyn_tui.window import handover
from nodwyn_tui.window.build import Shape
from tests.builders import LogBuilder, texts
from tests.generated import STEPS, Step, played
from tests.lab.generator import session

COMPACT, TRIM = LabPolicy(strategy="compact"), LabPolicy(strategy="trim")
PRICES = Prices(input=2.0, cached=0.2, write=2.5, output=10.0)


@pytest.fixture(scope="module")
def long() -> Sequence[ev.Event]:
    """A session of 80 requests that a trim cuts several times."""
    return session(80, context=48_000)


@pytest.fixture(scope="module")
def steps(long: Sequence[ev.Event]) -> list[Refolded]:
    return list(refold(long, COMPACT))


def test_it_compacts_where_it_would_trim(long: Sequence[ev.Event], steps: list[Refolded]) -> None:
    """A request for the note, the turn's own with one message appended; then a new window from it,
    and nothing is ever trimmed.
    """
    recorded = [event for event in long if isinstance(event, ev.LlmRequest)]
    asked = [number for number, step in enumerate(steps) if step.assumed is not None]
    assert len(steps) == len(recorded) + len(asked)
    assert len(asked) > 2
    assert all(step.window.newly == () for step in steps)
    for number in asked:
        before, note, after = steps[number - 1 : number + 2]
        assert note.request.purpose == "handover"
        shown = before.window.request.messages
        assert note.window.request.messages[: len(shown)] == shown
        assert "Write a handover note" in texts(note.window)[-1]
        assert after.request.seq == note.request.seq
        assert "handover note that you wrote" in texts(after.window)[0]
        assert after.window.estimate < note.window.estimate / 2
        assert after.left


def test_the_request_under_way_is_carried(steps: list[Refolded]) -> None:
    """In mid-run the person's words go along, as the product takes them."""
    after = [steps[n + 1] for n, step in enumerate(steps) if step.assumed is not None]
    assert any("<asked item=" in text for step in after for text in texts(step.window)[:2])


def test_requests_for_notes_are_counted_with_an_assumed_reply(long: Sequence[ev.Event]) -> None:
    rows = list(measure(Source("log", long), COMPACT, ["kv-slot"], PRICES))
    notes = [row for row in rows if row.purpose == "handover"]
    assert notes
    for before, row in pairwise(rows):
        if row.purpose != "handover":
            continue
        assert row.output_tokens == pytest.approx(ASSUMED_NOTE * 0.75, abs=2)
        assert row.cached_tokens >= before.prompt_tokens, "all that was sent before"
        assert row.cost_usd
        assert row.reported_prompt_tokens is None
    turns = [row for row in rows if row.purpose == "turn"]
    assert len(turns) == sum(isinstance(event, ev.LlmRequest) for event in long)


@pytest.mark.parametrize("model", CACHE_MODELS)
def test_every_cache_model_takes_it(long: Sequence[ev.Event], model: str) -> None:
    rows = list(measure(Source("log", long), COMPACT, [model], None))
    assert all(0 <= row.cached_tokens < row.prompt_tokens for row in rows)


def compacted(*, taken: bool) -> LogBuilder:
    """A session that asked for a note in mid-run, got calls first, and took it, or took it back."""
    log = LogBuilder()
    log.user("begin")
    log.exchange("a", "one")
    log.add(ev.GatePlan(text="[>] look"))
    log.request()
    log.reply("said")
    log.user("more")
    log.exchange("b", "two")
    if taken is not None:
        asked = log.add(handover.request(log.recipe, log.carrying.now))
        log.request(Shape(high_water=3_000), "handover")
        log.reply("a note of some words")
        if taken:
            log.hand_over("a note of some words")
        else:
            log.rewind(asked.seq, "undo")
    log.exchange("c", "three")
    log.request()
    log.reply("done")
    log.add(ev.RunEnd(why="done"))
    log.user("again")
    log.request()
    return log


@pytest.mark.parametrize("taken", [True, False])
def test_as_trimmed_it_is_the_session_without_compactions(taken: bool) -> None:
    """What was recorded of a compaction is as if it never was; what was said after it was said in
    the conversation.
    """
    plain = compacted(taken=None)  # type: ignore[arg-type]
    had = compacted(taken=taken)
    left = list(without_compactions(had.events))
    assert [type(event) for event in left] == [type(event) for event in plain.events]
    assert {event.ctx for event in left} == {0}
    assert [step.window.digest for step in refold(had.events, TRIM)] == [
        step.window.digest for step in refold(plain.events, LabPolicy())
    ]


@pytest.mark.parametrize("taken", [True, False])
def test_as_recorded_it_is_what_was_recorded(taken: bool) -> None:
    had = compacted(taken=taken).events
    asked = [event for event in had if isinstance(event, ev.LlmRequest)]
    assert [step.window.digest for step in refold(had, LabPolicy())] == [r.digest for r in asked]


def test_a_note_is_assumed_as_long_as_those_there_were() -> None:
    had = compacted(taken=True)
    assert len(assumed_note(had.events)) == len("a note of some words")
    assert len(assumed_note(compacted(taken=None).events)) == 3 * ASSUMED_NOTE  # type: ignore[arg-type]


def test_a_rewind_ends_behind_the_note() -> None:
    """What the person took back before a note that the policy adds could not be taken back then."""
    log = LogBuilder()
    first = log.user("first")
    for number in range(9):
        log.exchange(f"c{number}", "x" * 900)
    log.rewind(first.seq)
    log.user("other")
    log.request()
    steps = list(refold(log.events, COMPACT))
    assert any(step.assumed for step in steps)
    last = texts(steps[-1].window)
    assert "handover note" in last[0]
    assert last[-1].endswith("other")
    assert [text.split(":")[0] for text in last] == ["user"] * len(last)


@settings(deadline=None)
@given(STEPS, st.sampled_from(["trim", "compact"]))
def test_any_session_can_be_folded_under_either(steps: list[Step], strategy: str) -> None:
    """Its requests are those that were recorded, but for those for notes; no note follows another
    without a turn between them.
    """
    made = played(steps)
    found = list(refold(made.events, LabPolicy(strategy=strategy)))
    turns = [step.request.seq for step in found if step.request.purpose == "turn"]
    asked = [event for event in made.events if isinstance(event, ev.LlmRequest)]
    assert turns == [event.seq for event in asked if event.purpose == "turn"]
    purposes = [step.request.purpose for step in found]
    assert ("handover", "handover") not in pairwise(purposes)
    assert strategy == "compact" or set(purposes) <= {"turn"}
    for step in found:
        if step.assumed is not None:
            assert step.window.estimate <= made.recipe.window.ceiling
