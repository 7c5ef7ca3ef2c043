"""Models whose server refuses tools: their sessions offer none."""

from nodwyn_tui.domain import events as ev
from nodwyn_tui.link import commands
from nodwyn_tui.link import events as up
from tests.agent.rig import Rig
from tests.fakes.chat_server import ChatServer
from tests.fakes.ollama_server import OllamaServer
from tests.fakes.script import say

ABLE = ("completion",)


async def test_an_ollama_model_without_tools_is_offered_none(rig: Rig) -> None:
    """PRV-11, TUI-6: what would be refused is not sent, and what is missing is said."""
    with OllamaServer([say("hello")], capabilities=ABLE) as server:
        rig.configure(server)
        rig.opened = await rig.open()
        assert "uses no tools" in (await rig.until(up.Notice)).text
        assert (await rig.ask()).text == "hello"
        assert "tools" not in server.bodies[0].body
        assert server.violations == []
    recipe = rig.of(ev.SessionStart)[0].recipe
    assert recipe.tools == ()
    assert "no tools" in recipe.system


async def test_a_session_without_a_word_takes_the_tools_of_its_next_model(rig: Rig) -> None:
    """ENG-11: a catalogue stays for a session's life; one in which nothing was said begins anew."""
    with OllamaServer(capabilities=ABLE) as weak, ChatServer([say("with tools")]) as able:
        rig.configure(weak, able)
        first = await rig.open()
        rig.tell(commands.SwitchModel(model="m2"))
        rig.opened = await rig.until(up.Opened)
        assert rig.opened.session != first.session
        assert (await rig.ask()).text == "with tools"
        assert able.bodies[0].body["tools"]


async def test_a_session_that_began_without_tools_goes_on_so_and_says_it(rig: Rig) -> None:
    """ENG-11: the catalogue is part of the prefix."""
    with OllamaServer([say("one")], capabilities=ABLE) as weak, ChatServer([say("two")]) as able:
        rig.configure(weak, able)
        await rig.open()
        assert (await rig.ask()).text == "one"
        rig.tell(commands.SwitchModel(model="m2"))
        told = await rig.until(up.Notice, lambda event: "goes on without them" in event.text)
        assert "/new" in told.text
        assert (await rig.ask()).text == "two"
        assert "tools" not in able.bodies[0].body
