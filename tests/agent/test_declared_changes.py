"""What changes a window in mid-session, end to end: another model, a summary and its end."""

from collections.abc import Sequence

from nodwyn_tui.domain import events as ev
from nodwyn_tui.link import commands
from nodwyn_tui.link import events as up
from nodwyn_tui.window.build import Window
from nodwyn_tui.window.replay import replay
from tests.agent.rig import Rig, messages
from tests.cli.test_sessions_command import sessions
from tests.fakes.chat_server import ChatServer
from tests.fakes.script import Script, call, say

LARGE, SMALL = 16_384, 8_192


def turns(count: int) -> list[Script]:
    """Each reads a file of its own, so that no read goes stale."""
    reads = [call("fs-read", {"path": f"{n}.txt"}) for n in range(count)]
    return [item for n, read in enumerate(reads) for item in (read, say(f"seen {n}"))]


def windows(rig: Rig) -> Sequence[tuple[ev.LlmRequest, Window]]:
    """Each request with its window, rebuilt from the log."""
    log = rig.log()
    return [(event, replay(log, event.seq)) for event in log if isinstance(event, ev.LlmRequest)]


async def asked(rig: Rig, count: int) -> None:
    for n in range(count):
        (rig.workspace / f"{n}.txt").write_text("a line of this file\n" * 60)
        assert (await rig.ask(f"turn {n}")).why == "done"


async def switched(rig: Rig, name: str) -> None:
    rig.tell(commands.SwitchModel(model=name))
    await rig.until(up.ModelChanged)


async def test_smaller_model_trims_and_a_larger_one_brings_nothing_back(rig: Rig) -> None:
    """ENG-8, ENG-15, ENG-18: sizes follow the model; what left the window stays out of it."""
    with (
        ChatServer([*turns(6), say("large again")], context=LARGE) as large,
        ChatServer([say("small")], context=SMALL) as small,
    ):
        rig.configure(large, small)
        await rig.open()
        await asked(rig, 6)
        for name in ("m2", "m"):
            await switched(rig, name)
            assert (await rig.ask("and now?")).why == "done"
        assert large.violations == small.violations == []
    *_, before, smaller, larger = windows(rig)
    assert before[1].elided == frozenset()
    assert smaller[0].elided
    assert smaller[1].estimate < rig.of(ev.SessionRecipe)[0].recipe.window.high_water
    assert (smaller[0].prefix_ended_by, smaller[0].predicted_cached) == ("model_switch", 0)
    assert larger[0].elided == ()
    assert larger[1].elided == smaller[1].elided
    assert larger[0].prefix_ended_by == "model_switch", "results are cut at another size, too"
    assert 0 < (larger[0].predicted_cached or 0) < before[1].estimate
    assert "[elided seq=" in str(messages(large))


async def test_model_of_the_same_size_keeps_the_window_as_it_is(rig: Rig) -> None:
    """ENG-19, PRV-14: the new server is sent what the old one was, with messages appended."""
    with ChatServer(turns(2)) as first, ChatServer([say("other")], model="other") as second:
        rig.configure(first, second)
        await rig.open()
        await asked(rig, 2)
        await switched(rig, "m2")
        await rig.ask("and now?")
        kept = messages(first)
        assert messages(second)[: len(kept)] == kept
    assert rig.of(ev.LlmRequest)[-1].prefix_ended_by == "model_switch"


async def test_summary_starts_the_elided_set_anew_and_so_does_its_end(rig: Rig) -> None:
    """ENG-15, ENG-22: what it does not stand for is back, until the window is trimmed again."""
    with ChatServer([*turns(9), say("with it"), say("without")], context=SMALL) as server:
        rig.configure(server)
        opened = await rig.open()
        await asked(rig, 9)
        await rig.close()
        first, _, third = [event.seq for event in rig.of(ev.UserMessage)][:3]
        log = opened.log_path
        span = ["--first", str(first), "--last", str(third - 1)]
        assert sessions("summarize", log, *span, "--text", "two turns").returncode == 0
        await rig.open(resume=opened.session)
        await rig.ask("and now?")
        await rig.close()
        (added,) = rig.of(ev.SummaryAdd)
        assert sessions("revoke", log, str(added.seq)).returncode == 0
        await rig.open(resume=opened.session)
        await rig.ask("and now?")
        assert server.violations == []
    *_, before, with_it, without = windows(rig)
    assert before[1].elided
    for request, window in (with_it, without):
        assert request.prefix_ended_by == "summary"
        assert window.elided == frozenset(request.elided), "only what this request elided"
    assert any(row.kind == "summary" for row in with_it[1].entries)
    assert not any(row.kind == "summary" for row in without[1].entries)
