"""A first run, over the link with the real worker: what is found, what is picked, what is kept."""

import asyncio
import secrets
import tomllib

import pytest

from nodwyn_tui.link import events as up
from nodwyn_tui.link import settings, setup
from tests.agent.rig import Rig
from tests.fakes.chat_server import ChatServer
from tests.fakes.ollama_library import Library
from tests.fakes.ollama_server import OllamaServer
from tests.fakes.script import say


async def found(rig: Rig) -> dict[str, setup.Way]:
    """The ways by name."""
    rig.tell(setup.FindWays())
    return {way.name: way for way in (await rig.until(setup.WaysFound)).ways}


async def test_a_local_ollama_is_listed_and_the_pick_is_kept(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TUI-6: no model is asked before one is picked; the next start opens with the one that was."""
    with OllamaServer([say("hello"), say("again")]) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.base_url)
        assert (await rig.open()).model == ""
        assert not server.requests, "nothing is asked of anybody until the ways are"
        ollama = (await found(rig))["ollama"]
        assert (ollama.kind, ollama.ready, ollama.models) == ("ollama", True, (server.model,))
        assert not server.bodies
        rig.tell(setup.ChooseModel(server="ollama", model=server.model))
        rig.opened = await rig.until(up.Opened)
        assert rig.opened.model == server.model
        assert (await rig.ask()).text == "hello"
        written = tomllib.loads((rig.home / "config.toml").read_text())
        assert written["model"] == server.model
        assert written["models"] == {server.model: {"server": "ollama", "model": server.model}}
        await rig.close()
        assert (await rig.open()).model == server.model
        assert (await rig.ask()).text == "again"


async def test_no_ollama_is_told_with_its_address(rig: Rig) -> None:
    """TUI-6: what was looked for, and where; the tour is always there."""
    await rig.open()
    ways = await found(rig)
    assert not ways["ollama"].ready
    assert "127.0.0.1:9" in ways["ollama"].detail
    assert ways["tour"].ready
    assert not ways["groq"].ready
    assert ways["groq"].key_page.startswith("https://")


async def test_a_key_in_the_environment_comes_before_what_needs_one(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TUI-6: the variable is named, and what it holds is never told."""
    monkeypatch.setenv("GROQ_API_KEY", "held-by-the-environment")
    await rig.open()
    rig.tell(setup.FindWays())
    event = await rig.until(setup.WaysFound)
    names = [way.name for way in event.ways]
    assert names.index("groq") < names.index("openrouter") < names.index("tour")
    groq = next(way for way in event.ways if way.name == "groq")
    assert groq.ready
    assert "GROQ_API_KEY" in groq.detail
    assert "held-by-the-environment" not in str(rig.events)


async def test_a_model_of_the_same_name_gets_another_entry(rig: Rig) -> None:
    """C74: an entry of the person's own is never written over."""
    with ChatServer([say("one")]) as first, ChatServer([say("two")]) as second:
        rig.configure(first, second)
        await rig.open()
        rig.tell(setup.ChooseModel(server="fake2", model="fresh/m"))
        await rig.until(up.ModelChanged, lambda event: event.model == "m (fake2)")
        rig.tell(setup.ChooseModel(server="fake2", model=second.model))
        assert (await rig.until(up.ModelChanged, lambda event: event.model == "m2")).model
        assert (await rig.ask()).text == "two"
    written = tomllib.loads((rig.home / "config.toml").read_text())
    assert written["model"] == "m2"
    assert set(written["models"]) == {"m", "m2", "m (fake2)"}


async def test_an_unknown_server_and_a_broken_file_are_told(rig: Rig) -> None:
    """Nothing is written over a file that cannot be read."""
    await rig.open()
    rig.tell(setup.ChooseModel(server="nowhere", model="m"))
    assert "nowhere" in (await rig.until(up.Notice)).text
    config = rig.home / "config.toml"
    config.write_text("model = [")
    rig.tell(setup.ChooseModel(server="ollama", model="m"))
    assert "config.toml" in (await rig.until(up.Notice)).text
    assert config.read_text() == "model = ["


async def test_in_the_tour_nothing_is_chosen(rig: Rig) -> None:
    """The tour has its own guide."""
    await rig.open(tour=True)
    rig.tell(setup.ChooseModel(server="ollama", model="m"))
    assert "tour" in (await rig.until(up.Notice)).text
    assert not (rig.home / "config.toml").exists()


async def test_choosing_keeps_what_stands_in_the_settings(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C74: comments and other settings stay."""
    config = rig.home / "config.toml"
    config.write_text('# mine\nmode = "plan"\n')
    with OllamaServer([say("hello")]) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.base_url)
        await rig.open()
        rig.tell(setup.ChooseModel(server="ollama", model=server.model))
        rig.opened = await rig.until(up.Opened)
        assert rig.opened.mode == "plan"
    assert config.read_text().startswith('# mine\nmode = "plan"\n')


async def test_a_model_is_fetched_with_its_progress_told(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TUI-6: an Ollama without a model, from nothing to the first answer."""
    library = Library({"small:1b": (3_000_000, 1_000)})
    with OllamaServer([say("hello")], installed=(), library=library, model="small:1b") as server:
        monkeypatch.setenv("OLLAMA_HOST", server.base_url)
        await rig.open()
        ollama = (await found(rig))["ollama"]
        assert (ollama.ready, ollama.models) == (True, ())
        rig.tell(setup.PullModel(server="ollama", model="small:1b"))
        last = await rig.until(setup.PullProgress, lambda event: event.done)
        assert (last.done_bytes, last.all_bytes) == (3_001_000, 3_001_000)
        rig.tell(setup.ChooseModel(server="ollama", model="small:1b"))
        rig.opened = await rig.until(up.Opened)
        assert (await rig.ask()).text == "hello"


async def test_fetching_stops_and_another_one_waits(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TUI-6: Esc stops it at the server too; one is fetched at a time."""
    library = Library({"large:9b": (60_000_000,)}, pause=0.05)
    with OllamaServer(installed=(), library=library) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.base_url)
        await rig.open()
        rig.tell(setup.PullModel(server="ollama", model="large:9b"))
        await rig.until(setup.PullProgress, lambda event: event.done_bytes > 0)
        rig.tell(setup.PullModel(server="ollama", model="other"))
        assert "another model is being fetched" in (await rig.until(up.Notice)).text
        rig.tell(setup.StopPull())
        assert await asyncio.to_thread(server.hung_up.wait, 5)
        rig.tell(setup.PullModel(server="ollama", model="other"))
        failed = await rig.until(setup.PullProgress, lambda event: bool(event.error))
        assert failed.model == "other"
        assert "not found" in failed.error


async def test_only_ollama_fetches(rig: Rig) -> None:
    await rig.open()
    rig.tell(setup.PullModel(server="groq", model="m"))
    assert "only Ollama fetches" in (await rig.until(setup.PullProgress)).error
    rig.tell(setup.PullModel(server="ollama", model="m"))
    refused = await rig.until(setup.PullProgress, lambda event: "cannot connect" in event.error)
    assert "Start Ollama" in refused.error


async def test_a_key_that_is_given_is_kept_and_used(rig: Rig) -> None:
    """TUI-6, SEC-1: without a keyring a private file takes it; it is in no log and no settings."""
    key = secrets.token_hex(12)
    with ChatServer([say("hello")], key=key) as server:
        rig.configure(server)
        config = rig.home / "config.toml"
        config.write_text(config.read_text().replace('model = "m"\n', "", 1).split("[models")[0])
        assert (await rig.open()).model == ""
        for given, error in (("another", True), (key, False)):
            kept = settings.SetCredential(server="fake1", key=given, kept_in="file")
            rig.tell(kept)
            assert (await rig.until(settings.CredentialKept)).error == ""
            rig.tell(settings.ListServerModels(server="fake1"))
            listed = await rig.until(settings.ServerModelsListed)
            assert bool(listed.failures) == error
            assert not error or "authentication" in listed.failures[0]
        rig.tell(setup.ChooseModel(server="fake1", model=listed.models[0].id))
        rig.opened = await rig.until(up.Opened)
        assert (await rig.ask()).text == "hello"
        assert server.bodies[0].headers["authorization"] == f"Bearer {key}"
    assert key not in config.read_text()
    assert key not in str(rig.events)
    (kept_file,) = (rig.home / "keys").iterdir()
    assert kept_file.stat().st_mode & 0o077 == 0
