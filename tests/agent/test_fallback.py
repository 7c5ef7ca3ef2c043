"""PRV-14: another model takes over where one fails for good, and a switch has its price told."""

from typing import Any

import pytest

from nodwyn_tui.agent import asking
from nodwyn_tui.domain import events as ev
from nodwyn_tui.link import commands
from nodwyn_tui.link import events as up
from nodwyn_tui.providers import retry
from tests.agent.rig import Rig
from tests.fakes.chat_server import ChatServer
from tests.fakes.ollama_server import OllamaServer
from tests.fakes.script import call, cut, error, say
from tests.fakes.server import FakeServer

BUSY = error(503, {"error": {"message": "all machines are busy"}})
BROKEN = error(500, "boom")


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retries without their waits."""
    real = retry.delay
    monkeypatch.setattr(asking.retry, "delay", lambda *given: None if real(*given) is None else 0.0)


def configure(rig: Rig, *servers: FakeServer, fallback: str = "m2", **model: Any) -> None:
    rig.configure(*servers, **model)
    file = rig.home / "config.toml"
    file.write_text(f'fallback = "{fallback}"\n{file.read_text()}')


def asked(rig: Rig) -> list[tuple[str, str | None]]:
    return [(request.model.name, request.prefix_ended_by) for request in rig.of(ev.LlmRequest)]


def notes(rig: Rig) -> list[str]:
    return [note.text for note in rig.of(ev.Note) if note.why == "fallback"]


async def test_the_fallback_takes_over_after_the_retries(rig: Rig) -> None:
    """In mid-run, visibly; the switch is a recipe of the log, and every request replays."""
    look = call("fs-list", {})
    with ChatServer([look, *[BUSY] * retry.TRIES]) as one, ChatServer([say("done")]) as two:
        configure(rig, one, two, price={"input": 1.0, "output": 1.0})
        await rig.open()
        ended = await rig.ask()
        assert (ended.why, ended.text) == ("done", "done")
    assert [name for name, _ in asked(rig)] == ["m"] * (1 + retry.TRIES) + ["m2"]
    assert asked(rig)[-1][1] == "model_switch"
    (note,) = notes(rig)
    assert note.startswith("m2 takes over, since m failed: all machines are busy. It reads ~")
    assert "tokens anew, about $0.00. /model goes back to m." in note
    assert [told.model for told in rig.told(up.ModelChanged)] == ["m2"]
    kinds = [type(event) for event in rig.log()]
    assert kinds.index(ev.SessionRecipe) < kinds.index(ev.Note)
    assert (len(one.bodies), len(two.bodies)) == (1 + retry.TRIES, 1)
    assert (one.violations, two.violations) == ([], [])


async def test_it_goes_on_with_the_fallback_until_the_person_switches(rig: Rig) -> None:
    with ChatServer([BROKEN, say("again")]) as one, ChatServer([say("a"), say("b")]) as two:
        configure(rig, one, two)
        await rig.open()
        for _ in range(2):
            assert (await rig.ask()).why == "done"
        rig.tell(commands.SwitchModel(model="m"))
        await rig.until(up.ModelChanged, lambda told: told.model == "m")
        assert (await rig.ask()).text == "again"
    assert [name for name, _ in asked(rig)] == ["m", "m2", "m2", "m"]


@pytest.mark.parametrize(
    "refused",
    [
        error(401, {"error": {"message": "bad key"}}),
        error(400, {"error": {"message": "no such field"}}),
        error(404, {"error": {"message": "no such model"}}),
    ],
    ids=["key", "request", "model"],
)
async def test_what_the_person_is_to_mend_is_not_hidden(rig: Rig, refused: Any) -> None:
    with ChatServer([refused]) as one, ChatServer([say("never")]) as two:
        configure(rig, one, two)
        await rig.open()
        assert (await rig.ask()).why == "error"
    assert (notes(rig), two.bodies) == ([], [])


async def test_a_fallback_that_fails_too_ends_the_run(rig: Rig) -> None:
    """Once, not round and round."""
    with ChatServer([BROKEN]) as one, ChatServer([BROKEN]) as two:
        configure(rig, one, two)
        await rig.open()
        ended = await rig.ask()
    assert (ended.why, ended.kind) == ("error", "server_error")
    assert [name for name, _ in asked(rig)] == ["m", "m2"]


@pytest.mark.parametrize("fallback", ["m", "m2"])
async def test_a_fallback_that_cannot_be_asked_says_why(rig: Rig, fallback: str) -> None:
    """The model itself, and one whose context holds no session."""
    with ChatServer([BROKEN]) as one, ChatServer([say("never")], context=500) as two:
        configure(rig, one, two, fallback=fallback)
        await rig.open()
        assert (await rig.ask()).why == "error"
    assert two.bodies == []
    assert [text.partition(":")[0] for text in notes(rig)] == (
        ["the fallback cannot take over"] if fallback == "m2" else []
    )


async def test_a_fallback_without_its_key_says_why(rig: Rig) -> None:
    with ChatServer([BROKEN]) as one:
        configure(rig, one, fallback="openrouter/some/model")
        await rig.open()
        assert (await rig.ask()).why == "error"
    (note,) = notes(rig)
    assert "OPENROUTER_API_KEY" in note


async def test_a_smaller_fallback_is_asked_what_fits_it(rig: Rig) -> None:
    """C05: the preflight is its own."""
    reads = [call("fs-read", {"path": "big.txt"}) for _ in range(6)]
    (rig.workspace / "big.txt").write_text("a line of text\n" * 700)
    with (
        ChatServer([*reads, BROKEN], context=100_000) as one,
        OllamaServer([say("done")], context=8192) as two,
    ):
        configure(rig, one, two)
        await rig.open()
        assert (await rig.ask()).why == "done"
    last = rig.of(ev.LlmRequest)[-1]
    assert (last.model.name, bool(last.elided)) == ("m2", True)
    assert last.parameters.num_ctx == 8192
    assert two.violations == []


async def test_a_broken_stream_is_repeated_before_anybody_takes_over(rig: Rig) -> None:
    """PRV-8."""
    with ChatServer([cut(say("half")), cut(say("half"))]) as one, ChatServer([say("b")]) as two:
        configure(rig, one, two)
        await rig.open()
        assert (await rig.ask()).text == "b"
    assert [name for name, _ in asked(rig)] == ["m", "m", "m2"]


async def test_a_switch_tells_its_cold_tokens_first(rig: Rig) -> None:
    """Before it takes effect; nothing where nothing was said, or where nothing changes."""
    with ChatServer([say("x" * 4000), say("back")]) as one, ChatServer([say("y")]) as two:
        rig.configure(one, two, price={"input": 10.0, "output": 1.0})
        await rig.open()
        rig.tell(commands.SwitchModel(model="m2"))
        rig.tell(commands.SwitchModel(model="m"))
        await rig.until(up.ModelChanged, lambda told: told.model == "m")
        assert rig.told(up.Notice) == []
        await rig.ask()
        rig.tell(commands.SwitchModel(model="m2"))
        await rig.until(up.ModelChanged, lambda told: told.model == "m2")
        (notice,) = rig.told(up.Notice)
        await rig.ask()
        rig.tell(commands.SwitchModel(model="m"))
        await rig.until(up.ModelChanged, lambda told: told.model == "m")
    assert notice.text.startswith("m2 reads ~")
    assert "tokens anew, about $0.0" in notice.text
    cold, warm = (_tokens(each.text) for each in rig.told(up.Notice))
    assert cold > 1500
    assert warm < cold / 2  # the first server's cache still holds most of it
    events = rig.events
    changed = max(n for n, e in enumerate(events) if isinstance(e, up.ModelChanged))
    assert isinstance(events[changed - 1], up.Notice)


def _tokens(text: str) -> int:
    return int(text.partition("~")[2].partition(" ")[0].replace(",", ""))


async def test_the_list_of_models_tells_what_each_switch_costs(rig: Rig) -> None:
    with ChatServer([say("hello")]) as one, ChatServer([], model="big") as two:
        rig.configure(one, two, price={"input": 10.0, "output": 1.0})
        await rig.open()
        rig.tell(commands.ListModels())
        before = await rig.until(up.ModelsListed)
        await rig.ask()
        rig.tell(commands.ListModels())
        after = await rig.until(up.ModelsListed)
    assert {choice.cold_tokens for choice in before.models} == {0}
    by_name = {choice.name: choice for choice in after.models}
    assert (by_name["m"].current, by_name["m"].cold_tokens) == (True, 0)
    other = by_name["m2"]
    assert other.cold_tokens > 1000
    assert other.cold_usd == pytest.approx(other.cold_tokens * 10 / 1e6)
    assert f"reads ~{other.cold_tokens:,} tokens anew" in other.detail
    assert by_name["fake2/big"].cold_usd is None
