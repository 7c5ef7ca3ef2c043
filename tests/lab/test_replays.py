"""Recorded sessions under other policies: the windows are those the policy would have built."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nodwyn_tui.domain import events as ev
from nodwyn_tui.domain.canonical import request_bytes
from nodwyn_tui.domain.parts import Call
from nodwyn_tui.errors import ReplayError
from nodwyn_tui.lab.cache_models import CACHE_MODELS
from nodwyn_tui.lab.measures import Source, measure
from nodwyn_tui.lab.policies import LabPolicy
from nodwyn_tui.lab.replays import refold, scales
from nodwyn_tui.store.log import Log
from nodwyn_tui.window.build import Shape
from nodwyn_tui.window.policy import ADDED
from nodwyn_tui.window.replay import replay
from tests.builders import LogBuilder
from tests.generated import STEPS, Step, played
from tests.lab.generator import session
from tests.lab.record import SCENARIOS, SESSIONS, record

AS_RECORDED = LabPolicy()
SMALL = 48_000


def read(name: str) -> Sequence[ev.Event]:
    return Log.read(SESSIONS / f"{name}.jsonl").events


def requests(events: Sequence[ev.Event]) -> list[ev.LlmRequest]:
    return [event for event in events if isinstance(event, ev.LlmRequest)]


def digests(events: Sequence[ev.Event], policy: LabPolicy) -> list[str]:
    return [step.window.digest for step in refold(events, policy)]


def test_sessions_are_those_of_the_scenarios() -> None:
    assert {path.stem for path in SESSIONS.iterdir()} == set(SCENARIOS)


@pytest.mark.parametrize("name", SCENARIOS)
def test_recorded_sessions_replay(name: str) -> None:
    """ENG-26: logs of other days, and of another machine."""
    events = read(name)
    assert not Log.read(SESSIONS / f"{name}.jsonl").damage
    for request in requests(events):
        assert replay(events, request.seq).newly == request.elided


async def test_recording_again_gives_the_same_bytes(tmp_path: Path, home: Path) -> None:
    first, second = tmp_path / "1", tmp_path / "2"
    first.mkdir()
    second.mkdir()
    for folder in (first, second):
        (folder / "home").symlink_to(home)
    assert await record("parallel", first) == await record("parallel", second)


@pytest.mark.parametrize("name", SCENARIOS)
def test_as_recorded_is_what_was_recorded(name: str) -> None:
    """ENG-30: without the recorded elisions, every request comes out to its digest; forced trims,
    a resume and a clear among them.
    """
    events = read(name)
    assert digests(events, AS_RECORDED) == [request.digest for request in requests(events)]


def test_long_session_is_trimmed_several_times() -> None:
    """What the small recordings are for."""
    trimmed = [request for request in requests(read("trims")) if request.elided]
    assert len(trimmed) >= 3
    assert any(request.high_water for request in trimmed)


@pytest.mark.parametrize("version", ADDED)
def test_another_recipe_gives_the_windows_of_a_session_that_had_it(version: int) -> None:
    """ENG-30, ENG-9: the policy's own elisions take the recorded ones' place, step by step."""
    recorded = session(30, context=SMALL)
    meant = session(30, context=SMALL, version=version)
    assert digests(recorded, LabPolicy(recipe=version)) == [r.digest for r in requests(meant)]


def test_other_marks_and_caps_give_the_windows_of_a_session_that_had_them() -> None:
    """ENG-30, ENG-14."""
    recorded = session(40, context=131_072)
    marks = {"high_water": 20_000, "low_water": 9_000, "max_result_tokens": 900}
    meant = session(40, context=131_072, **marks)
    policy = LabPolicy(high=20_000, low=9_000, cap=900)
    assert digests(recorded, policy) == [request.digest for request in requests(meant)]
    often, seldom = (
        sum(bool(request.elided) for request in requests(events)) for events in (meant, recorded)
    )
    assert often > seldom > 0


def test_forced_trim_line_holds_unless_marks_are_set() -> None:
    """ENG-14: the line was set against what was recorded."""
    built = LogBuilder(high_water=2_900, low_water=1_000)
    built.user()
    for number in range(6):
        built.exchange(f"c{number}", "x" * 900)
    line = built.window().estimate - 100
    from_line, _ = built.request(Shape(high_water=line))
    assert from_line.elided
    last = list(refold(built.events, AS_RECORDED))[-1]
    assert last.window.newly == from_line.elided
    assert list(refold(built.events, LabPolicy(high=2_950)))[-1].window.newly == ()


def test_folds_off_shows_results_whole() -> None:
    """ENG-21, ENG-30."""
    built = LogBuilder()
    built.user()
    built.exchange("c1", "the whole long result")
    target = next(e for e in built.events if isinstance(e, ev.ToolResult))
    built.fold(target.seq, "(stale)")
    built.request()
    (_, folded), (_, whole) = (
        [request_bytes(step.window.request) for step in refold(built.events, policy)]
        for policy in (AS_RECORDED, LabPolicy(folds=False))
    )
    assert b"(stale)" in folded
    assert b"the whole long result" not in folded
    assert b"the whole long result" in whole
    assert b"(stale)" not in whole


def test_folds_on_are_made_where_the_prefix_changes_anyway() -> None:
    """ENG-21, ENG-30: at a trim, never before."""
    built = LogBuilder(max_result_tokens=2_000, low_water=1_800)
    built.user()
    for number in range(8):
        built.exchange(f"c{number}", "x" * 900, "fs-read", '{"path":"same.txt"}')
    built.request()
    steps = list(refold(built.events, LabPolicy(folds=True)))
    folded = ["folded" in {entry.state for entry in step.window.entries} for step in steps]
    recorded = list(refold(built.events, AS_RECORDED))
    trims = [number for number, step in enumerate(recorded) if step.left]
    assert folded.index(True) == trims[0]
    assert len(steps[-1].window.elided) < len(recorded[-1].window.elided)


def test_sub_context_is_built_as_its_own() -> None:
    """ENG-23: its requests are in its context, and leave the conversation's figures alone."""
    built = LogBuilder()
    built.user()
    built.request()
    opened = built.add(ev.ContextOpen(id=9, parent=0, kind="subagent", system="You look."))
    asked = built.add(ev.UserMessage(text="look", ctx=opened.id, via="steer"))
    built.add(
        ev.LlmRequest(
            model=requests(built.events)[0].model,
            parameters=ev.Parameters(),
            digest="",
            estimate=1,
            ctx=asked.ctx,
        )
    )
    steps = list(refold(built.events, AS_RECORDED))
    assert steps[1].window.request.system == "You look."
    assert [entry.seq for entry in steps[1].window.entries] == [asked.seq]
    assert steps[1].left == ()


def test_what_leaves_is_told_once_with_its_size() -> None:
    """ENG-30: what left the window."""
    built = LogBuilder()
    built.user()
    for number in range(8):
        built.exchange(f"c{number}", "x" * 900)
    built.request()
    steps = list(refold(built.events, AS_RECORDED))
    left = [each for step in steps for each in step.left]
    assert {each.seq for each in left} == steps[-1].window.elided
    assert len({each.seq for each in left}) == len(left)
    for step, former in zip(steps[1:], steps, strict=False):
        if step.left:
            gone = sum(each.tokens for each in step.left)
            came = step.window.estimate + gone - former.window.estimate
            fresh = {entry.seq for entry in former.window.entries}
            new = [entry for entry in step.window.entries if entry.seq not in fresh]
            assert came == sum(entry.tokens for entry in new)


def test_log_without_a_recipe_is_refused() -> None:
    built = LogBuilder()
    built.user()
    request, _ = built.request()
    with pytest.raises(ReplayError, match=f"no recipe .* request at seq {request.seq}"):
        list(refold(built.events[1:], AS_RECORDED))


def test_ratio_is_of_what_was_reported() -> None:
    """By origin; one that reported nothing has none."""
    assert scales(session(12))["s/m-1"] == pytest.approx(0.75, abs=0.001)
    built = LogBuilder()
    built.user()
    built.request()
    built.reply(Call("c1", "shell", "{}"))
    assert scales(built.events) == {}


@settings(deadline=None)
@given(STEPS, st.sampled_from(list(ADDED)))
def test_any_session_comes_out_as_recorded(steps: list[Step], version: int) -> None:
    """ENG-30, REL-4: every kind of line in any order, in every recipe."""
    made = played(steps, version)
    windows = {step.request.seq: step.window for step in refold(made.events, AS_RECORDED)}
    for request, window in made.windows:
        assert windows[request.seq].digest == request.digest
        assert windows[request.seq].newly == window.newly


@settings(deadline=None)
@given(STEPS, st.sampled_from(list(ADDED)))
def test_figures_hold_for_any_session_under_any_recipe(steps: list[Step], version: int) -> None:
    """Every cache model reads less than the prompt, and writes no more than was read anew."""
    source = Source("made up", played(steps).events)
    policy = LabPolicy(recipe=version, high=1_500, folds=False)
    for row in measure(source, policy, list(CACHE_MODELS), None):
        assert 0 <= row.cached_tokens < row.prompt_tokens
        assert 0 <= row.written_tokens <= row.uncached_tokens
