"""AGT-5: a limit in dollars holds, or says that it can't."""

from nodwyn_tui.agent.limits import GO_ON
from nodwyn_tui.domain.usage import Usage, totals
from nodwyn_tui.link import commands
from nodwyn_tui.link import events as up
from tests.agent.rig import Rig
from tests.fakes.chat_server import ChatServer
from tests.fakes.script import call, say


async def test_reply_without_usage_leaves_the_cost_limit_unkept(rig: Rig) -> None:
    """Also where the other replies' cost is known."""
    read, silent = call("fs-list", {}), call("fs-list", {}, usage=False)
    with ChatServer([read, silent, say("never")]) as server:
        rig.configure(server, price={"input": 1.0, "output": 1.0})
        await rig.open(max_cost=2.0)
        ended = await rig.ask()
    assert (ended.why, len(server.bodies)) == ("limit", 2)
    assert "cost is unknown" in ended.message


async def test_a_budget_counts_cached_tokens_at_a_tenth(rig: Rig) -> None:
    """AGT-5: the same requests pass a budget that a count of all they read would not."""
    usage = {
        "prompt_tokens": 1000,
        "completion_tokens": 10,
        "prompt_tokens_details": {"cached_tokens": 900},
    }
    look = call("fs-list", {}, usage=usage)
    with ChatServer([look, look, look, say("never", usage=usage)]) as server:
        rig.configure(server)
        await rig.open(max_tokens=600)
        ended = await rig.ask()
    assert (ended.why, len(server.bodies)) == ("limit", 3)
    assert "used 600 tokens of its 600" in ended.message
    assert ended.remedy == GO_ON


async def test_a_reply_without_usage_leaves_the_budget_unkept(rig: Rig) -> None:
    with ChatServer([call("fs-list", {}, usage=False), say("never")]) as server:
        rig.configure(server)
        await rig.open(max_tokens=10**6)
        ended = await rig.ask()
    assert (ended.why, len(server.bodies)) == ("limit", 1)
    assert "does not report what it read" in ended.message


async def test_a_run_that_was_paused_goes_on_as_far_again(rig: Rig) -> None:
    """AGT-5: the settings' limits hold for every run; the command line's come before them."""
    look = call("fs-list", {})
    with ChatServer([look, look, look, say("done")]) as server:
        rig.configure(server)
        with (rig.home / "config.toml").open("a") as file:
            file.write("[limits]\nmax_steps = 2\nmax_seconds = 600.0\n")
        await rig.open()
        first = await rig.ask()
        rig.tell(commands.Continue())
        second = await rig.until(up.RunEnded)
        assert [(e.why, e.requests) for e in (first, second)] == [("limit", 2), ("done", 2)]
    assert "its limit of 2 requests" in first.message
    with ChatServer([look, look, look, say("done")]) as server:
        rig.configure(server)
        with (rig.home / "config.toml").open("a") as file:
            file.write("[limits]\nmax_steps = 2\n")
        await rig.close()
        await rig.open(max_steps=3)
        assert (await rig.ask()).requests == 3


def test_what_a_budget_counts() -> None:
    """Where the server does not tell what was cached, nothing was."""
    seen = totals([Usage(prompt_tokens=100, cached_tokens=50, output_tokens=5)] * 2)
    assert seen.budget == 2 * (50 + 5 + 5)
    assert totals([Usage(prompt_tokens=100, output_tokens=5)]).budget == 105
    assert totals([]).budget is None
    assert seen.plus(Usage(output_tokens=5)).budget is None
