"""What a front may ask beside messages: models, bodies, drafts, new sessions, the tour."""

import os
from pathlib import Path

import pytest

from nodwyn_tui.domain import events as ev
from nodwyn_tui.link import commands
from nodwyn_tui.link import events as up
from tests.agent.rig import Rig, messages
from tests.fakes.chat_server import ChatServer
from tests.fakes.ollama_server import OllamaServer
from tests.fakes.script import call, say


async def test_models_are_listed_with_the_servers_that_failed(rig: Rig) -> None:
    with ChatServer() as server, OllamaServer() as local:
        rig.configure(server, local)
        await rig.open()
        rig.tell(commands.ListModels())
        listed = await rig.until(up.ModelsListed)
    names = [model.name for model in listed.models]
    assert names[:2] == ["m", "m2"]
    assert f"fake1/{server.model}" in names
    assert f"fake2/{local.model}" in names
    assert [model.name for model in listed.models if model.current] == ["m"]
    assert "ollama" in listed.failures[0]


async def test_body_of_an_old_entry_is_fetched(rig: Rig) -> None:
    long = "a long answer " * 100
    with ChatServer([say(f"{n} {long}") for n in range(40)]) as server:
        rig.configure(server)
        await rig.open()
        for _ in range(40):
            await rig.ask()
        await rig.close()
        await rig.open(resume="last")
        entries = (await rig.until(up.EntriesLoaded)).entries
        assert entries[1].body is None
        assert entries[1].size > len(entries[1].preview) == 240
        assert entries[-2].body is not None
        rig.tell(commands.FetchBodies(ids=(entries[1].id, "nothing")))
        loaded = await rig.until(up.BodyLoaded)
    assert loaded.body.text == f"0 {long}"
    assert loaded.body.text.startswith(entries[1].preview)


async def test_draft_is_kept_over_a_crash(rig: Rig) -> None:
    """AGT-1, TUI-7: written by the worker, forgotten once it is sent."""
    with ChatServer([say("ok")]) as server:
        rig.configure(server)
        await rig.open()
        rig.tell(commands.SaveDraft(text="half a thought"))
        await rig.close()
        assert (await rig.open()).draft == "half a thought"
        await rig.ask("half a thought, ended")
        await rig.close()
        opened = await rig.open()
    assert (opened.draft, opened.history) == ("", ("half a thought, ended",))


async def test_new_session_leaves_the_old_one_whole(rig: Rig) -> None:
    with ChatServer([say("one"), say("two")]) as server:
        rig.configure(server)
        first = await rig.open()
        await rig.ask("hello")
        old = rig.log()
        rig.tell(commands.NewSession())
        second = rig.opened = await rig.until(up.Opened)
        await rig.ask("again")
        assert second.session != first.session
        assert len(messages(server)) == 2
        rig.opened = first
        assert rig.log()[: len(old)] == old


async def test_model_chosen_where_none_was_found(rig: Rig) -> None:
    """TUI-6: from the setup state straight into a session."""
    with ChatServer([say("hi")]) as server:
        rig.configure(server)
        config = rig.home / "config.toml"
        config.write_text(config.read_text().replace('model = "m"\n', "", 1).split("[models")[0])
        opened = await rig.open()
        assert opened.setup
        rig.tell(commands.Send(text="too early"))
        assert "/model" in (await rig.until(up.Notice)).text
        rig.tell(commands.SwitchModel(model="fake1/test-model"))
        rig.opened = await rig.until(up.Opened)
        assert (await rig.ask()).text == "hi"


async def test_tour_starts_where_no_model_was_found(rig: Rig) -> None:
    opened = await rig.open()
    assert opened.setup
    rig.tell(commands.StartTour())
    rig.opened = await rig.until(up.Opened)
    assert rig.opened.tour
    assert (rig.opened.model, Path(rig.opened.workspace).parent.name) == ("tour", "tour")


async def test_unknown_model_changes_nothing(rig: Rig) -> None:
    with ChatServer([say("hi")]) as server:
        rig.configure(server)
        await rig.open()
        rig.tell(commands.SwitchModel(model="nope/none/at/all"))
        assert "nope" in (await rig.until(up.Notice)).text
        assert (await rig.ask()).text == "hi"


async def test_model_is_not_changed_in_a_run(rig: Rig) -> None:
    with ChatServer([call("shell", {"command": "sleep 30"})]) as server:
        rig.configure(server)
        await rig.open(allow=("*",))
        rig.tell(commands.Send(text="go"))
        await rig.until(up.EntryAdded, lambda e: e.entry.kind == "call")
        rig.tell(commands.SwitchModel(model="m"))
        assert "Esc stops it" in (await rig.until(up.Notice)).text
        rig.tell(commands.Interrupt())
        await rig.until(up.RunEnded)


async def test_switch_and_back_reads_the_first_models_cache_again(rig: Rig) -> None:
    """ENG-28, PRV-14: each origin has a prefix of its own."""
    with ChatServer([say("a"), say("c")]) as first, ChatServer([say("b")]) as second:
        rig.configure(first, second)
        await rig.open()
        await rig.ask("one")
        for name in ("m2", "m"):
            rig.tell(commands.SwitchModel(model=name))
            await rig.until(up.ModelChanged)
            await rig.ask("more")
    requests, replies = rig.of(ev.LlmRequest), rig.of(ev.LlmResponse)
    assert [request.prefix_ended_by for request in requests] == ["first", "model_switch", None]
    assert requests[1].predicted_cached == 0
    assert requests[2].predicted_cached == replies[0].usage.prompt_tokens


async def test_branch_is_told(rig: Rig) -> None:
    (rig.workspace / ".git").mkdir()
    (rig.workspace / ".git" / "HEAD").write_text("ref: refs/heads/fix/login\n")
    with ChatServer() as server:
        rig.configure(server)
        assert (await rig.open()).branch == "fix/login"


@pytest.mark.skipif(os.geteuid() != 0, reason="the state folder is made unwritable by a file")
async def test_prompt_that_cannot_be_kept_is_told_once(rig: Rig) -> None:
    with ChatServer([say("hi")]) as server:
        rig.configure(server)
        (rig.home / "state").write_text("in the way")
        await rig.open()
        rig.tell(commands.SaveDraft(text="a"))
        rig.tell(commands.SaveDraft(text="ab"))
        assert (await rig.ask()).text == "hi"
    drafts = [notice for notice in rig.told(up.Notice) if "draft is not kept" in notice.text]
    assert len(drafts) == 1
