"""Recorded sessions under `rollover`, and rolled-over ones under every strategy (ENG-30, ROL-2)."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nodwyn_tui.domain import events as ev
from nodwyn_tui.domain.words import STRATEGIES, Strategy
from nodwyn_tui.errors import ReplayError
from nodwyn_tui.lab.cache_models import CACHE_MODELS
from nodwyn_tui.lab.measures import Prices, Source, measure
from nodwyn_tui.lab.policies import LabPolicy
from nodwyn_tui.lab.replays import Refolded, refold
from nodwyn_tui.lab.rollovers import assumed_notes, without_rollovers
from nodwyn_tui.link import commands
from nodwyn_tui.link import events as up
from nodwyn_tui.window import lead_in
from nodwyn_tui.window.budget import TOO_SMALL
from tests.agent.rig import Rig
from tests.builders import LogBuilder, texts
from tests.fakes.chat_server import ChatServer
from tests.fakes.script import call, say
from tests.fakes.stocktaking import Model, Task
from tests.generated import STEPS, Step, played
from tests.lab.generator import session

ROLLOVER, TRIM = LabPolicy(strategy="rollover"), LabPolicy(strategy="trim")
PRICES = Prices(input=2.0, cached=0.2, write=2.5, output=10.0)
TASK = Task(registers=12, runs=3, size=3_600, log=6_000)
CONTEXT = 16_384
BEGINS_ANEW = lead_in.BEHIND.partition(".")[0]


async def rolled_over(folder: Path, holds: int = CONTEXT, **settings: object) -> Sequence[ev.Event]:
    """A session of the real agent under `rollover`; its server holds so many tokens."""
    rig = Rig(folder)
    TASK.write(rig.workspace)
    with ChatServer([Model()], repeat=True, context=holds) as server:
        rig.configure(server, strategy="rollover", context=CONTEXT, **settings)
        await rig.open(mode="edits", allow=("shell: *",))
        for text in TASK.asks:
            assert (await rig.ask(text)).why == "done"
        await rig.close()
    return rig.log()


def requests(events: Sequence[ev.Event]) -> list[ev.LlmRequest]:
    return [event for event in events if isinstance(event, ev.LlmRequest)]


def resets(events: Sequence[ev.Event]) -> list[str]:
    """Why each window was left."""
    return [event.reason for event in events if isinstance(event, ev.WindowReset)]


def digests(events: Sequence[ev.Event], policy: LabPolicy) -> list[str]:
    return [step.window.digest for step in refold(events, policy)]


@pytest.mark.parametrize("fresh", ["off", "each_request", "on_change", "run_start"])
async def test_a_rolled_over_session_gives_its_own_requests_again(
    tmp_path: Path, home: Path, fresh: str
) -> None:
    """ENG-30, ROL-4: the recorded rollovers are left out, and decided on again from the log alone:
    the same warnings, the same windows, byte for byte.
    """
    events = await rolled_over(tmp_path, fresh=fresh)
    assert len(resets(events)) > 2
    assert any(isinstance(event, ev.BudgetWarning) for event in events)
    recorded = [request.digest for request in requests(events)]
    assert digests(events, LabPolicy()) == recorded
    assert digests(events, ROLLOVER) == recorded


async def test_what_a_server_refused_is_asked_again_as_it_was(tmp_path: Path, home: Path) -> None:
    """ROL-7: a model that holds less than its entry says."""
    events = await rolled_over(tmp_path, holds=6_000)
    assert "context-exceeded" in resets(events)
    assert digests(events, ROLLOVER) == [request.digest for request in requests(events)]


async def test_so_does_one_that_was_steered_resumed_cleared_and_gone_on_with(
    tmp_path: Path, home: Path
) -> None:
    """ROL-2, ROL-4, ROL-9: windows left on send, in front of a steer, and by the person."""
    rig = Rig(tmp_path)
    (rig.workspace / "big.txt").write_text(("y" * 59 + "\n") * 500)
    read, slow = call("fs-read", {"path": "big.txt"}), call("shell", {"command": "sleep 0.4"})
    runs = [[slow, read, say("done")], [*[read] * 3, say("read")], [say("so")], [read, say("ah")]]
    with ChatServer([reply for run in runs for reply in run], context=CONTEXT) as server:
        rig.configure(server, strategy="rollover", context=CONTEXT)
        await rig.open(allow=("shell: *",))
        rig.tell(commands.Send(text="start"))
        await rig.until(up.EntryAdded, lambda e: e.entry.tool == "shell")
        rig.tell(commands.Send(text="steer " * 5_000, steer=True))
        assert (await rig.until(up.RunEnded)).text == "done"
        await rig.ask("read it three times")
        await rig.close()
        await rig.open(resume="last", allow=("shell: *",))
        await rig.ask("more words " * 2_500)
        rig.tell(commands.ClearWindow())
        await rig.ask("once more")
        await rig.close()
    events = rig.log()
    assert {"mid-run", "on-send", "clear"} <= set(resets(events))
    recorded = [request.digest for request in requests(events)]
    assert digests(events, LabPolicy()) == recorded
    assert digests(events, ROLLOVER) == recorded


async def test_as_trimmed_it_knows_of_no_rollover(tmp_path: Path, home: Path) -> None:
    """Nothing is warned of or left; the marks are those of a session that trims (ENG-18)."""
    events = await rolled_over(tmp_path)
    found = list(refold(events, TRIM))
    assert [step.request for step in found] == requests(events)
    assert any(step.window.newly for step in found)
    said = [text for step in found for text in texts(step.window)]
    assert not any(BEGINS_ANEW in text or "context ~" in text for text in said)
    assert "user: Continue." not in said
    noted = list(refold(events, LabPolicy(strategy="compact")))
    assert any(step.assumed for step in noted)


@pytest.fixture(scope="module")
def long() -> Sequence[ev.Event]:
    """A session of 80 requests that a trim cuts several times."""
    return session(80, context=48_000)


@pytest.fixture(scope="module")
def steps(long: Sequence[ev.Event]) -> list[Refolded]:
    return list(refold(long, ROLLOVER))


def begun(steps: Sequence[Refolded]) -> list[int]:
    """Where a window begins anew, by the number of its first request."""
    return [
        number
        for number, (before, step) in enumerate(pairwise(steps), 1)
        if BEGINS_ANEW in texts(step.window)[0] and texts(before.window)[0] != texts(step.window)[0]
    ]


def test_windows_are_warned_of_and_left(steps: list[Refolded], long: Sequence[ev.Event]) -> None:
    """ROL-2, ROL-3: nothing is trimmed; between two windows the model is warned once and has a turn
    for its notes, with which the next window begins.
    """
    notes = [number for number, step in enumerate(steps) if step.assumed is not None]
    firsts = begun(steps)
    assert len(firsts) > 2
    assert len(steps) == len(requests(long)) + len(notes)
    assert all(step.window.newly == () for step in steps)
    assert len(notes) in (len(firsts), len(firsts) + 1)
    for number in firsts:
        before, after = steps[number - 1 : number + 1]
        assert after.window.estimate < before.window.estimate / 2
        assert after.left
        assert "so so so" in texts(after.window)[0], "the assumed notes"
    for number in notes:
        asked, after = steps[number : number + 2]
        assert "context ~" in "".join(texts(asked.window)[-2:])
        assert after.request.seq == asked.request.seq
        assert texts(after.window)[-2].startswith("assistant: memory(")


def test_a_lower_threshold_leaves_more_windows(long: Sequence[ev.Event]) -> None:
    """ROL-2: and each is left sooner."""
    often = list(refold(long, LabPolicy(strategy="rollover", threshold=0.5)))
    seldom = list(refold(long, LabPolicy(strategy="rollover", threshold=0.9)))
    assert len(begun(often)) > len(begun(seldom)) > 1
    most = [max(step.window.estimate for step in steps) for steps in (often, seldom)]
    assert most[0] < most[1]


def test_within_a_run_the_persons_words_are_quoted(steps: list[Refolded]) -> None:
    """ROL-1: and the run goes on."""
    for number in begun(steps):
        first, *_, last = texts(steps[number].window)
        assert "Your turn was interrupted" in first
        assert '<asked item="i:' in first
        assert last.endswith("Continue.")


def test_on_send_a_window_is_left_in_front_of_the_message() -> None:
    """ROL-1, ROL-4: which counts before it is sent, with its images."""
    log = LogBuilder()
    log.user("look")
    for number in range(2):
        log.exchange(f"c{number}", "x" * 1_500)
    log.request()
    log.reply("looked")
    log.add(ev.RunEnd(why="done"))
    log.user("y" * 6_500)
    log.add(ev.AttachImage(**IMAGE))
    log.request()
    last = texts(list(refold(log.events, ROLLOVER))[-1].window)
    assert [text[:40] for text in last] == [f"user: Note from the program: {BEGINS_ANEW}"[:40],
                                            f"user: The person asks:\n\n{'y' * 40}"[:40],
                                            "user: [image a.png] <ab>"]  # fmt: skip
    assert "interrupted" not in last[0]


@pytest.mark.parametrize("model", CACHE_MODELS)
def test_it_is_measured_with_the_assumed_notes(long: Sequence[ev.Event], model: str) -> None:
    rows = list(measure(Source("log", long), ROLLOVER, [model], PRICES))
    assert all(0 <= row.cached_tokens < row.prompt_tokens for row in rows)
    added = [row for row, after in pairwise(rows) if row.seq == after.seq]
    assert len(rows) == len(requests(long)) + len(added)
    for row in added:
        assert 1_100 < row.output_tokens < 1_200, "1,500 by the estimate, at three quarters"
        assert row.reported_prompt_tokens is None
    cost = sum(row.cost_usd or 0 for row in rows)
    trimmed = sum(row.cost_usd or 0 for row in measure(Source("log", long), TRIM, [model], PRICES))
    assert 0 < cost < trimmed


def told(*, rolled: bool) -> LogBuilder:
    """A session that was warned, left its window in mid-run and on send, and was refused once."""
    log = LogBuilder(strategy="rollover" if rolled else "trim")
    log.user("begin")
    log.exchange("a", "one")
    if rolled:
        log.add(ev.BudgetWarning(text="context ~60 % used"))
    log.exchange("b", "two")
    if rolled:
        log.roll_over()
    log.exchange("c", "three")
    log.request()
    log.reply("done")
    log.add(ev.RunEnd(why="done"))
    if rolled:
        log.roll_over(ev.UserMessage(text="again"), ev.AttachImage(**IMAGE), reason="on-send")
    else:
        log.user("again")
        log.add(ev.AttachImage(**IMAGE))
    asked, _ = log.request()
    log.add(ev.LlmError(req=asked.seq, kind="context_exceeded", message="too long"))
    if rolled:
        again = (ev.UserMessage(text="again"), ev.AttachImage(**IMAGE))
        for draft in log.rollover(*again, reason="context-exceeded"):
            log.add(draft)
    log.request()
    log.reply("done again")
    return log


IMAGE = {
    "sha256": "ab", "name": "a.png", "mime": "image/png", "bytes": 9, "width": 1, "height": 2,
    "tokens": 9, "host": "h", "line": "[image a.png]",
}  # fmt: skip


def test_without_its_rollovers_a_session_is_what_was_said_and_done() -> None:
    """Neither the word to go on, nor what was asked again, nor its images."""
    left = list(without_rollovers(told(rolled=True).events))
    plain = told(rolled=False).events
    assert [type(event) for event in left] == [type(event) for event in plain]
    said = [event.text for event in left if isinstance(event, ev.UserMessage)]
    assert said == ["begin", "again"]


def test_a_clear_stays() -> None:
    log = LogBuilder()
    log.clear()
    assert list(without_rollovers(log.events)) == log.events


def test_a_policy_that_would_end_the_session_says_so() -> None:
    """ROL-5: two windows in a row that a single reply fills."""
    log = LogBuilder(strategy="trim", max_result_tokens=3_500)
    log.user("read it all")
    for number in range(4):
        log.exchange(f"c{number}", "x" * 9_500)
    log.request()
    with pytest.raises(ReplayError, match=f"ends before the request at seq .*{TOO_SMALL}"):
        list(refold(log.events, ROLLOVER))


def test_a_recipe_without_resets_rolls_nothing_over() -> None:
    log = LogBuilder(version=16)
    log.user("look")
    for number in range(9):
        log.exchange(f"c{number}", "x" * 900)
    log.request()
    with pytest.raises(ReplayError, match="recipe version 16 knows no windows that begin anew"):
        list(refold(log.events, ROLLOVER))


def test_a_rewind_ends_behind_the_lead_in() -> None:
    """What the person took back before a window was left could not be taken back then."""
    log = LogBuilder()
    first = log.user("first")
    for number in range(9):
        log.exchange(f"c{number}", "x" * 900)
    log.rewind(first.seq)
    log.user("other")
    log.request()
    last = texts(list(refold(log.events, ROLLOVER))[-1].window)
    assert BEGINS_ANEW in last[0]
    assert last[-1].endswith("other")
    assert {text.split(":")[0] for text in last} == {"user"}


def test_notes_are_assumed_as_long_as_those_there_were() -> None:
    log = LogBuilder()
    assert len(assumed_notes(log.events)) == 4_500
    log.add(
        ev.ToolCall(
            resp=1, call_id="n", name="memory",
            arguments='{"action":"write","file":"context-notes","text":"a few words"}',
        )
    )  # fmt: skip
    log.add(ev.ToolCall(resp=1, call_id="r", name="memory", arguments='{"action":"read"'))
    assert len(assumed_notes(log.events)) == len("a few words")


def folded(events: Sequence[ev.Event], strategy: Strategy) -> list[Refolded] | str:
    """The requests, or why there are none."""
    try:
        return list(refold(events, LabPolicy(strategy=strategy)))
    except ReplayError as error:
        return str(error)


@settings(deadline=None)
@given(STEPS, st.sampled_from(STRATEGIES))
def test_any_session_can_be_folded_under_any_strategy(steps: list[Step], name: Strategy) -> None:
    """Its requests are those that were recorded, or it is said where it would have ended; under
    `rollover` nothing is trimmed.
    """
    made = played(steps)
    found = folded(made.events, name)
    if isinstance(found, str):
        assert name == "rollover"
        assert "the session ends before" in found or "begin anew" in found
        return
    turns = [step.request.seq for step in found if step.assumed is None]
    assert turns == [r.seq for r in requests(made.events) if r.purpose == "turn"]
    assert name != "rollover" or not any(step.window.newly for step in found)
