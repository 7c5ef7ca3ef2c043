"""A first run on the screen: every way to a first answer, and every way back (TUI-6)."""

from dataclasses import replace
from typing import cast

import pytest
from textual import events

from nodwyn_tui.link import commands, settings, setup
from nodwyn_tui.link import events as up
from tests.ui.backend import OPENED, Stage, press, settled

UNSET = replace(OPENED, model="", server="", provider="", session="", setup="· Do this.")
OLLAMA = setup.Way(
    kind="ollama",
    name="ollama",
    title="Ollama",
    detail="http://127.0.0.1:11434",
    ready=True,
    models=("qwen3:8b", "gemma3:4b"),
)
GROQ = setup.Way(kind="server", name="groq", title="Groq", detail="the key in G", ready=True)
MISTRAL = setup.Way(
    kind="server", name="mistral", title="Mistral", key_page="https://mistral.example/keys"
)
LMSTUDIO = setup.Way(kind="server", name="lmstudio", title="LM Studio", ready=True)
TOUR = setup.Way(kind="tour", name="tour", title="The tour", ready=True)
SIZES = [(80, 24), (120, 36), (60, 16)]


def first_run(*ways: setup.Way) -> Stage:
    """Nothing is set up; the worker finds these."""
    stage = Stage(UNSET)
    stage.backend.answers[setup.FindWays] = lambda _: [setup.WaysFound(ways=(*ways, TOUR))]
    return stage


def lists(*models: settings.ServerModel, failure: str = "") -> object:
    """What a server answers when its models are asked for."""

    def answer(command: commands.Command) -> list[up.UpEvent]:
        server = cast("settings.ListServerModels", command).server
        failures = (failure,) if failure else ()
        return [settings.ServerModelsListed(server=server, models=models, failures=failures)]

    return answer


LISTED = settings.ServerModel(
    server="mistral", id="big/model", context=131_072, input_usd=0.5, output_usd=1.5
)
WEAK = settings.ServerModel(server="mistral", id="weak", tools=False)


@pytest.mark.parametrize("size", SIZES)
async def test_enter_alone_takes_ollamas_first_model(size: tuple[int, int]) -> None:
    """TUI-6, TUI-11: one key from an empty home to a model, on any screen."""
    stage = first_run(OLLAMA)
    async with stage.app.run_test(size=size) as pilot:
        await settled(pilot)
        assert "qwen3:8b" in stage.text()
        await press(pilot, "enter")
        await settled(pilot)
    assert stage.backend.of(setup.ChooseModel) == [
        setup.ChooseModel(server="ollama", model="qwen3:8b")
    ]


async def test_esc_leaves_for_the_conversation_and_setup_comes_back() -> None:
    """TUI-6: nothing is asked for twice by itself."""
    stage = first_run(OLLAMA)
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await press(pilot, "escape")
        await settled(pilot)
        assert "No model is set up yet" in stage.text()
        stage.backend.tell(UNSET)
        await settled(pilot)
        assert "Pick who answers" not in stage.text()
        await press(pilot, *"/setup", "enter")
        await settled(pilot)
        assert "Pick who answers" in stage.text()
    assert not stage.backend.of(setup.ChooseModel)


async def test_a_wrong_configuration_is_seen_first() -> None:
    """C72: what is wrong in the file stands in sight."""
    stage = Stage(replace(UNSET, problems=(up.Problem(text="config.toml:1: is not TOML"),)))
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        assert "is not TOML" in stage.text()
        assert "Pick who answers" not in stage.text()


async def test_the_tour_is_one_of_the_ways() -> None:
    """TUI-6: it is there whatever else is."""
    stage = first_run()
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await press(pilot, *"tour", "enter")
        await settled(pilot)
    assert stage.backend.of(commands.StartTour)


async def test_a_key_at_hand_leads_to_its_servers_models() -> None:
    """TUI-6: the key in the environment is named; its server's models are picked from."""
    stage = first_run(GROQ)
    stage.backend.answers[settings.ListServerModels] = lists(LISTED, WEAK)  # type: ignore[assignment]
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await press(pilot, "enter")
        await settled(pilot)
        shown = stage.text()
        assert "131k tokens · $0.5 in, $1.5 out" in shown
        assert "no tools" in shown
        await press(pilot, *"weak", "enter")
        await settled(pilot)
    assert stage.backend.of(setup.ChooseModel) == [setup.ChooseModel(server="groq", model="weak")]


async def test_a_key_is_asked_for_and_never_shown() -> None:
    """TUI-6, SEC-1: typed and pasted, kept in the keyring, and nowhere on the screen."""
    stage = first_run(MISTRAL)
    kept = settings.CredentialKept(server="mistral", place="keyring:mistral")
    stage.backend.answers[settings.SetCredential] = lambda _: [kept]
    stage.backend.answers[settings.ListServerModels] = lists(LISTED)  # type: ignore[assignment]
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await press(pilot, *"hosted", "enter")
        await settled(pilot)
        await press(pilot, "enter")
        await settled(pilot)
        assert "https://mistral.example/keys" in stage.text()
        await press(pilot, *"typed")
        stage.app.screen.post_message(events.Paste("-pasted\n"))
        await settled(pilot)
        assert "12 characters" in stage.text()
        assert "typed" not in stage.text()
        assert "pasted" not in stage.text()
        await press(pilot, "enter")
        await settled(pilot)
        assert "big/model" in stage.text()
        await press(pilot, "enter")
        await settled(pilot)
    assert stage.backend.of(settings.SetCredential) == [
        settings.SetCredential(server="mistral", key="typed-pasted", kept_in="keyring")
    ]
    assert stage.backend.of(setup.ChooseModel) == [
        setup.ChooseModel(server="mistral", model="big/model")
    ]


async def test_enter_on_nothing_that_matches_stays() -> None:
    """TUI-6: what was typed can be corrected; no list is left by it."""
    stage = first_run(LMSTUDIO)
    stage.backend.answers[settings.ListServerModels] = lists(LISTED)  # type: ignore[assignment]
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await press(pilot, *"hosted", "enter", "enter")
        await settled(pilot)
        await press(pilot, *"bigg", "enter")
        await settled(pilot)
        assert "Models of LM Studio" in stage.text()
        assert "nothing matches" in stage.text()
        await press(pilot, "backspace", "enter")
        await settled(pilot)
    assert [each.model for each in stage.backend.of(setup.ChooseModel)] == ["big/model"]


async def test_a_server_of_this_machine_that_wants_a_key_is_given_one() -> None:
    """TUI-6: "needs no key" was a guess; its refusal is told, and a key can be typed."""
    stage = first_run(LMSTUDIO)
    refusal = lists(failure="lmstudio: authentication [401]: Unauthorized. Check the key")
    stage.backend.answers[settings.ListServerModels] = refusal  # type: ignore[assignment]
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await press(pilot, *"hosted", "enter", "enter")
        await settled(pilot)
        assert "if it wants one after all" in stage.text()
        assert "in place of the one it has" not in stage.text()
        await press(pilot, *"give", "enter", *"key", "enter")
        await settled(pilot)
    assert [each.key for each in stage.backend.of(settings.SetCredential)] == ["key"]


async def test_without_a_keyring_a_file_takes_the_key() -> None:
    """TUI-6: the place is the next best one, and no more is asked."""
    stage = first_run(MISTRAL)

    def keep(command: commands.Command) -> list[up.UpEvent]:
        command = cast("settings.SetCredential", command)
        if command.kept_in == "keyring":
            return [settings.CredentialKept(server="mistral", error="no keyring works here")]
        return [settings.CredentialKept(server="mistral", place="file:keys/mistral")]

    stage.backend.answers[settings.SetCredential] = keep
    stage.backend.answers[settings.ListServerModels] = lists(LISTED)  # type: ignore[assignment]
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await press(pilot, *"hosted", "enter", "enter", *"key", "enter")
        await settled(pilot)
        assert "big/model" in stage.text()
    asked = stage.backend.of(settings.SetCredential)
    assert [each.kept_in for each in asked] == ["keyring", "file"]


async def test_a_refused_key_is_told_and_another_one_can_be_typed() -> None:
    """TUI-6: the server's own words, and the same screen; Esc goes back, list by list."""
    stage = first_run(MISTRAL, LMSTUDIO)
    kept = settings.CredentialKept(server="mistral", place="keyring:mistral")
    stage.backend.answers[settings.SetCredential] = lambda _: [kept]
    refusal = lists(failure="mistral: authentication [401]: Unauthorized. Check the key")
    stage.backend.answers[settings.ListServerModels] = refusal  # type: ignore[assignment]
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await press(pilot, *"hosted", "enter", "enter", *"wrong", "enter")
        await settled(pilot)
        assert "Unauthorized" in stage.text()
        stage.backend.answers[settings.ListServerModels] = lists(LISTED)  # type: ignore[assignment]
        await press(pilot, *"right", "enter")
        await settled(pilot)
        assert "big/model" in stage.text()
        await press(pilot, "escape")
        await settled(pilot)
        assert "Whose model?" in stage.text()
        assert "its key is kept" in stage.text()
        await press(pilot, "enter")
        await settled(pilot)
        assert "big/model" in stage.text()
        await press(pilot, "escape", "escape")
        await settled(pilot)
        assert "Pick who answers" in stage.text()
        await press(pilot, *"hosted", "enter", "enter")
        await settled(pilot)
        assert "The key of Mistral" in stage.text()
        await press(pilot, "escape")
        await settled(pilot)
        assert "Whose model?" in stage.text()
    assert [each.key for each in stage.backend.of(settings.SetCredential)] == ["wrong", "right"]


async def test_a_server_that_does_not_answer_is_told_with_what_can_be_done() -> None:
    """TUI-6: no network is said, and asked again in two keys."""
    stage = first_run(GROQ)
    down = "groq: transport: cannot connect. Check the network"
    stage.backend.answers[settings.ListServerModels] = lists(failure=down)  # type: ignore[assignment]
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await press(pilot, "enter")
        await settled(pilot)
        assert "Check the network" in stage.text()
        await press(pilot, "enter")
        await settled(pilot)
    assert len(stage.backend.of(settings.ListServerModels)) == 2


EMPTY = replace(OLLAMA, models=())


async def test_an_ollama_without_a_model_fetches_one() -> None:
    """TUI-6: bytes, share, pace and time left; once it is there it is taken."""
    stage = first_run(EMPTY)
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        assert "has no model yet" in stage.text()
        await press(pilot, "enter")
        await settled(pilot)
        assert "qwen3-coder:30b" in stage.text()
        await press(pilot, *"my/own:1b", "enter")
        await settled(pilot)
        step = setup.PullProgress(
            model="my/own:1b", status="pulling 6a0746a1", done_bytes=500, all_bytes=2000
        )
        stage.backend.tell(step)
        await settled(pilot)
        shown = stage.text()
        for word in ("pulling 6a0746a1", "500 B of 2.0 kB", "25%"):
            assert word in shown
        stage.backend.tell(replace(step, status="success", done_bytes=2000, done=True))
        await settled(pilot)
    assert stage.backend.of(setup.PullModel) == [
        setup.PullModel(server="ollama", model="my/own:1b")
    ]
    assert stage.backend.of(setup.ChooseModel) == [
        setup.ChooseModel(server="ollama", model="my/own:1b")
    ]


async def test_esc_stops_the_fetching_and_an_error_stays_in_sight() -> None:
    """TUI-6: what went wrong is read before it is left."""
    stage = first_run(EMPTY)
    async with stage.app.run_test(size=(60, 16)) as pilot:
        await settled(pilot)
        await press(pilot, "enter", "enter")
        await settled(pilot)
        full = "ollama: server error: no space left on device. Make room"
        name = stage.backend.of(setup.PullModel)[0].model
        stage.backend.tell(setup.PullProgress(model=name, status="pulling", error=full))
        await settled(pilot)
        assert "no space left" in stage.text()
        await press(pilot, "escape")
        await settled(pilot)
        assert "First things first" in stage.text()
    assert stage.backend.of(setup.StopPull)
    assert not stage.backend.of(setup.ChooseModel)


async def test_pull_within_a_session_changes_no_model() -> None:
    """TUI-6: `/pull NAME` while a model is set up."""
    stage = Stage(OPENED)
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await press(pilot, *"/pull small:1b", "enter")
        await settled(pilot)
        stage.backend.tell(setup.PullProgress(model="small:1b", status="success", done=True))
        await settled(pilot)
        assert "small:1b is there now: /model picks it" in stage.text()
    assert not stage.backend.of(setup.ChooseModel)


LOCAL = setup.Way(kind="local", name="local", title="A small local model", ready=True)


async def test_the_small_local_model_is_one_key_away() -> None:
    """TUI-6: what it does meanwhile is told; it is taken once it runs."""
    stage = first_run(LOCAL)
    stage.backend.answers[setup.StartLocal] = lambda _: [setup.LocalStarting(status="loads it")]
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await press(pilot, "enter")
        await settled(pilot)
        assert "loads it" in stage.text()
        stage.backend.tell(setup.LocalStarting(server="local", model="Small", status="it runs"))
        await settled(pilot)
    assert stage.backend.of(setup.ChooseModel) == [setup.ChooseModel(server="local", model="Small")]


async def test_a_local_model_that_does_not_start_says_why() -> None:
    """TUI-6: Esc goes back to the other ways, and what starts later is not taken."""
    stage = first_run(LOCAL)
    failed = setup.LocalStarting(error="pip could not fetch the weights")
    stage.backend.answers[setup.StartLocal] = lambda _: [failed]
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await press(pilot, "enter")
        await settled(pilot)
        assert "could not fetch" in stage.text()
        await press(pilot, "escape")
        await settled(pilot)
        assert "Pick who answers" in stage.text()
        stage.backend.tell(setup.LocalStarting(server="local", model="Small"))
        await settled(pilot)
    assert not stage.backend.of(setup.ChooseModel)


async def test_a_local_model_that_opens_by_itself_is_told() -> None:
    """TUI-6: `--model local` takes a while, and says what for."""
    stage = Stage(setup.LocalStarting(status="loads it"))
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        assert "the small local model: loads it" in stage.text()


async def test_names_are_shown_as_they_are() -> None:
    """SEC-3: a name in brackets is no markup, whoever gave it."""
    odd = "[bold]odd[/]"
    stage = first_run(replace(GROQ, title=odd))
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await press(pilot, "enter")
        await settled(pilot)
        assert f"Models of {odd}" in stage.text()
        await press(pilot, "escape")
        await settled(pilot)
        await press(pilot, "escape")
        await press(pilot, *f"/pull {odd}", "enter")
        await settled(pilot)
        assert f"Fetch {odd}" in stage.text()


async def test_a_key_that_is_kept_can_be_given_anew() -> None:
    """TUI-6: a provider that lists its models to anybody refuses a wrong key only when asked."""
    kept = replace(MISTRAL, ready=True, detail="its key is kept already")
    stage = first_run(kept)
    stage.backend.answers[settings.ListServerModels] = lists(LISTED)  # type: ignore[assignment]
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await press(pilot, "enter")
        await settled(pilot)
        await press(pilot, *"another", "enter")
        await settled(pilot)
        assert "The key of Mistral" in stage.text()


async def test_what_a_lost_worker_was_asked_can_be_asked_again() -> None:
    """TUI-12: nothing waits for an answer that does not come."""
    stage = first_run(EMPTY, MISTRAL)
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await press(pilot, "enter", "enter")
        await settled(pilot)
        assert stage.backend.of(setup.PullModel)
        stage.backend.die()
        await settled(pilot)
        assert "try once more" in stage.text()
