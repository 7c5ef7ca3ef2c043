"""What a session records of the rules that it goes by, and of each request before it is sent."""

from collections.abc import Mapping
from typing import Any

from nodwyn_tui.domain import events as ev
from nodwyn_tui.domain.recipe import CURRENT_VERSION
from nodwyn_tui.link import commands
from nodwyn_tui.link import events as up
from nodwyn_tui.store.log import Log
from nodwyn_tui.window.entries import fixed_tokens
from nodwyn_tui.window.replay import replay
from nodwyn_tui.window.sizes import Wanted, limits
from tests.agent.rig import Rig
from tests.fakes.chat_server import ChatServer
from tests.fakes.ollama_server import OllamaServer
from tests.fakes.script import Say, call, say


async def test_start_records_the_whole_recipe(rig: Rig) -> None:
    """ENG-8, ENG-10, ENG-18: by which every request of the session is built."""
    with OllamaServer([call("fs-list", {}), say("ok")]) as server:
        rig.configure(server, num_ctx=20_000, keep_alive="7m", max_output=3_000)
        config = rig.home / "config.toml"
        config.write_text(config.read_text() + '\n[window]\ntask_header = "Do this:"\n')
        await rig.open()
        await rig.ask("look")
    (start,) = rig.of(ev.SessionStart)
    assert start.seq == 1
    recipe = start.recipe
    prefix = fixed_tokens(recipe.system, recipe.tools)
    assert recipe.version == CURRENT_VERSION == 20
    assert recipe.window == limits(20_000, prefix, Wanted(max_output=3_000), None)
    assert (recipe.num_ctx, recipe.keep_alive, recipe.max_output) == (20_000, "7m", 3_000)
    assert (recipe.task_header, recipe.plan_header) == ("Do this:", "The plan as it stands:")
    assert recipe.strategy == "trim"
    sent = [request.body for request in server.bodies]
    for body in sent:
        assert body["messages"][0]["content"] == recipe.system
        names = [tool["function"]["name"] for tool in body["tools"]]
        assert names == [tool.name for tool in recipe.tools]
        assert body["options"]["num_ctx"] == 20_000
        assert body["options"]["num_predict"] == 3_000
    assert sent[0]["messages"][1]["content"] == "Do this:\n\nlook"


async def test_switch_records_the_recipe_anew_with_the_other_models_sizes(rig: Rig) -> None:
    """ENG-8, ENG-11: prompt, catalogue and headers stay; a resume records it once more."""
    with (
        ChatServer([say("one")], context=64_000) as first,
        ChatServer([say("two"), say("three")], context=128_000) as second,
    ):
        rig.configure(first, second)
        await rig.open()
        await rig.ask()
        rig.tell(commands.SwitchModel(model="m2"))
        await rig.until(up.ModelChanged)
        await rig.ask()
        await rig.close()
        await rig.open(resume="last")
        await rig.ask()
    bearers = [event for event in rig.log() if isinstance(event, ev.RecipeEvent)]
    assert [event.type for event in bearers] == [
        "session.start", "session.recipe", "session.resume",
    ]  # fmt: skip
    recipes = [event.recipe for event in bearers]
    assert [recipe.num_ctx for recipe in recipes] == [64_000, 128_000, 128_000]
    assert [recipe.window.high_water for recipe in recipes] == [41_856, 89_856, 89_856]
    same = {(recipe.system, repr(recipe.tools), recipe.task_header) for recipe in recipes}
    assert len(same) == 1
    assert recipes[1] == recipes[2]


async def test_request_is_in_the_log_before_it_is_sent(rig: Rig) -> None:
    """ENG-24: with all that its window departs in from the rule, so that the log alone rebuilds
    it.
    """
    seen: list[ev.Event] = []

    def answer(_body: Mapping[str, Any]) -> Say:
        (path,) = rig.workspace.rglob("log.jsonl")
        seen.append(Log.read(path).events[-1])
        return say("ok") if len(seen) > 1 else call("fs-list", {})

    with ChatServer([answer], repeat=True) as server:
        rig.configure(server)
        await rig.open()
        await rig.ask()
    requests = rig.of(ev.LlmRequest)
    assert seen == requests
    for request in requests:
        window = replay(rig.log(), request.seq)
        assert (request.digest, request.estimate) == (window.digest, window.estimate)
        assert request.elided == window.newly == ()
        assert (request.purpose, request.model.name, request.model.id) == (
            "turn",
            "m",
            server.model,
        )
        assert (request.no_tools, request.offered_tools, request.high_water) == (False, None, None)
        assert (request.withheld_images, request.fresh) == ((), ())
