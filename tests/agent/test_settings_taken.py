"""What was saved is taken over by the session that is open (TUI-5, ENG-8)."""

import threading
import tomllib
from collections.abc import Callable

import pytest

from nodwyn_tui.domain import events as ev
from nodwyn_tui.link import commands
from nodwyn_tui.link import events as up
from nodwyn_tui.link.settings import SaveSettings, SettingsRefused, SettingsSaved
from tests.agent.rig import Rig, messages
from tests.agent.setting_front import Settings, changed, row
from tests.fakes.anthropic_server import AnthropicServer, Thought, turn
from tests.fakes.chat_server import ChatServer
from tests.fakes.details_server import DetailsServer
from tests.fakes.ollama_server import OllamaServer
from tests.fakes.responses_events import Output, Reason, Said
from tests.fakes.responses_server import ResponsesServer
from tests.fakes.script import ScriptedCall, call, say
from tests.fakes.server import FakeServer

LIST = ScriptedCall("shell", '{"command": "ls"}')


async def efforts(rig: Rig) -> list[str | None]:
    return [request.parameters.effort for request in rig.of(ev.LlmRequest)]


async def test_a_changed_parameter_counts_from_the_next_request(rig: Rig) -> None:
    """Recorded where it is sent; the prompt before it stays what it was."""
    settings = Settings(rig)
    with ChatServer([say("one"), say("two")]) as server:
        rig.configure(server, effort="low")
        await rig.open()
        await rig.ask()
        saved = await settings.save(
            await settings.show(), changed("models", "m", "effort", to="high")
        )
        assert isinstance(saved, SettingsSaved)
        assert saved.later == ()
        await rig.until(up.MeterChanged)
        assert (await rig.ask()).why == "done"
        assert server.violations == []
        assert messages(server, 1)[: len(messages(server, 0))] == messages(server, 0)
    assert await efforts(rig) == ["low", "high"]


async def test_in_mid_run_it_waits_for_the_end(rig: Rig) -> None:
    """The run goes on as it began, and is followed by what was saved, with its recipe."""
    settings = Settings(rig)
    gate = threading.Event()
    script = [call("fs-list", {}, gate=gate), say("done"), say("again")]
    with ChatServer(script) as server:
        rig.configure(server, effort="low")
        await rig.open()
        rig.tell(commands.Send(text="go"))
        await rig.until(up.RequestSent)
        shown = await settings.show()
        saved = await settings.save(
            shown,
            changed("models", "m", "effort", to="high"),
            changed("models", "m", "strategy", to="compact"),
            changed("window", "task_header", to="Do this:"),
            changed("limits", "max_steps", to="50"),
        )
        assert isinstance(saved, SettingsSaved)
        assert saved.later == (
            "window.task_header: from the next session",
            "limits: from the next run on",
            "m: once this run has ended",
        )
        gate.set()
        assert (await rig.until(up.RunEnded)).why == "done"
        await rig.until(up.ModelChanged)
        assert (await rig.ask()).why == "done"
        assert server.violations == []
    assert await efforts(rig) == ["low", "low", "high"]
    (recipe,) = rig.of(ev.SessionRecipe)
    assert recipe.recipe.strategy == "compact"
    started = rig.of(ev.SessionStart)[0].recipe
    assert recipe.recipe.task_header == started.task_header


async def test_another_strategy_counts_from_the_next_request(rig: Rig) -> None:
    """ROL-10, TUI-3: header, meter and window follow, in both directions, and a window rolls over
    once that is the strategy.
    """
    settings = Settings(rig)
    long = "x" * 6_000
    with ChatServer([say(long)], repeat=True, context=16_384) as server:
        rig.configure(server)
        await rig.open()
        await rig.ask()
        assert rig.told(up.MeterChanged)[-1].strategy == "trim"
        saved = await settings.save(
            await settings.show(),
            changed("models", "m", "strategy", to="rollover"),
            changed("models", "m", "threshold", to="0.6"),
        )
        assert isinstance(saved, SettingsSaved)
        assert (await rig.until(up.ModelChanged)).strategy == "rollover"
        meter = await rig.until(up.MeterChanged)
        assert meter.strategy == "rollover"
        assert (meter.low, meter.high) == (meter.ceiling // 2, meter.ceiling * 65 // 100)
        while not rig.of(ev.WindowReset):
            assert (await rig.ask("on " + long[:1_500])).why == "done"
        divider = next(told.entry for told in rig.told(up.EntryAdded) if told.entry.leaves)
        assert divider.title.startswith("rolled over before the next message")
        events = {told.next_event for told in rig.told(up.MeterChanged)}
        assert "rolls over at 65 %" in events
        assert any(words.startswith(("warns in ~", "rolls over in ~")) for words in events)
        saved = await settings.save(
            await settings.show(), changed("models", "m", "strategy", to="trim")
        )
        assert isinstance(saved, SettingsSaved)
        assert (await rig.until(up.ModelChanged)).strategy == "trim"
        assert (await rig.ask()).why == "done"
        assert server.violations == []


async def test_a_strategy_that_is_saved_counts_over_the_command_line(rig: Rig) -> None:
    """TUI-5: the later word holds; something else that is saved takes none back."""
    settings = Settings(rig)
    with ChatServer([say("hi")], repeat=True, context=16_384) as server:
        rig.configure(server)
        assert (await rig.open(strategy="rollover")).strategy == "rollover"
        saved = await settings.save(
            await settings.show(), changed("models", "m", "threshold", to="0.6")
        )
        assert isinstance(saved, SettingsSaved)
        assert (await rig.until(up.ModelChanged)).strategy == "rollover"
        saved = await settings.save(
            await settings.show(), changed("models", "m", "strategy", to="compact")
        )
        assert isinstance(saved, SettingsSaved)
        assert (await rig.until(up.ModelChanged)).strategy == "compact"
        assert (await rig.ask()).why == "done"


async def test_a_strategy_of_one_start_is_missed_at_the_next(rig: Rig) -> None:
    """ROL-10: a session that goes on under another strategy than it had says so, and how to have
    it back; one that is asked for needs no word.
    """
    with ChatServer([say("hi")], repeat=True, context=16_384) as server:
        rig.configure(server)
        await rig.open(strategy="rollover")
        await rig.ask()
        await rig.close()
        assert (await rig.open(resume="last")).strategy == "trim"
        (told,) = [note.text for note in rig.of(ev.Note) if note.audience == "person"]
        assert "a full window means trim" in told
        assert "--strategy rollover" in told
        await rig.close()
        assert (await rig.open(resume="last")).strategy == "trim"
        await rig.close()
        await rig.open(resume="last", strategy="rollover")
        assert len(rig.of(ev.Note)) == 1


async def test_approvals_and_models_count_at_once(rig: Rig) -> None:
    """A call that waits and is allowed by what was saved goes on (C10); a new model is there."""
    settings = Settings(rig)
    script = [call("shell", {"command": "echo hello"}), say("done"), say("two")]
    with ChatServer(script) as server:
        rig.configure(server)
        await rig.open()
        rig.tell(commands.Send(text="go"))
        await rig.until(up.ApprovalAsked)
        saved = await settings.save(
            await settings.show(),
            changed("approvals", "allow", to="shell: echo *"),
            changed("models", "new one", "server", to="fake1"),
            changed("models", "new one", "model", to=server.model),
        )
        assert isinstance(saved, SettingsSaved)
        assert (await rig.until(up.RunEnded)).why == "done"
        rig.tell(commands.SwitchModel(model="new one"))
        assert (await rig.until(up.ModelChanged)).model == "new one"
        assert (await rig.ask()).text == "two"
    assert [each.decision for each in rig.of(ev.Approval)] == ["allowed"]


async def test_a_model_that_an_editor_wrote_is_there_for_model(rig: Rig) -> None:
    """TUI-5: `/model` knows the file as it is now, listed and by name; all of it counts."""
    settings = Settings(rig)
    with ChatServer([call("shell", {"command": "echo hello"}), say("two")]) as server:
        rig.configure(server)
        await rig.open()
        entry = f'server = "fake1"\nmodel = "{server.model}"\n'
        with settings.file.open("a") as file:
            file.write(
                f'\n[models."an editor\'s"]\n{entry}\n[approvals]\nallow = ["shell: echo *"]\n'
            )
        rig.tell(commands.ListModels())
        assert "an editor's" in [each.name for each in (await rig.until(up.ModelsListed)).models]
        with settings.file.open("a") as file:
            file.write(f"\n[models.later]\n{entry}")
        rig.tell(commands.SwitchModel(model="later"))
        assert (await rig.until(up.ModelChanged)).model == "later"
        assert (await rig.ask()).text == "two"
        settings.file.write_text("no toml")
        rig.tell(commands.SwitchModel(model="m"))
        assert (await rig.until(up.ModelChanged)).model == "m"
    assert [each.decision for each in rig.of(ev.Approval)] == ["allowed"]


async def test_a_session_whose_model_is_taken_out_goes_on(rig: Rig) -> None:
    settings = Settings(rig)
    with ChatServer([say("one"), say("two")]) as server:
        rig.configure(server)
        await rig.open()
        await rig.ask()
        shown = await settings.show()
        assert isinstance(
            await settings.save(shown, changed("models", "m", to=None)), SettingsSaved
        )
        assert settings.values.keys() == {"servers"}
        assert (await rig.ask()).text == "two"


async def test_a_first_model_is_set_up_where_there_is_none(rig: Rig) -> None:
    """Nothing is configured: a server and a model are added, and answer."""
    settings = Settings(rig)
    with ChatServer([say("hello")]) as server:
        assert (await rig.open()).session == ""
        saved = await settings.save(
            await settings.show(),
            changed("servers", "mine", "provider", to="openai"),
            changed("servers", "mine", "base_url", to=server.base_url),
            changed("models", "first", "server", to="mine"),
            changed("models", "first", "model", to=server.model),
            changed("model", to="first"),
        )
        assert isinstance(saved, SettingsSaved)
        rig.tell(commands.SwitchModel(model="first"))
        assert (await rig.until(up.Opened)).model == "first"
        rig.opened = rig.told(up.Opened)[-1]
        assert (await rig.ask()).text == "hello"
    assert tomllib.loads(settings.file.read_text())["model"] == "first"


async def test_a_larger_context_is_loaded_from_the_next_request(rig: Rig) -> None:
    """PRV-7: `num_ctx` is a session's recipe, recorded anew."""
    settings = Settings(rig)
    with OllamaServer([say("one"), say("two")]) as server:
        rig.configure(server, num_ctx=16_384)
        await rig.open()
        await rig.ask()
        shown = await settings.show()
        assert row(shown, "models", "m", "num_ctx").value == "16384"
        await settings.save(shown, changed("models", "m", "num_ctx", to="32768"))
        await rig.until(up.ModelChanged)
        assert (await rig.ask()).why == "done"
        assert server.violations == []
    assert [each.parameters.num_ctx for each in rig.of(ev.LlmRequest)] == [16_384, 32_768]
    assert [each.recipe.num_ctx for each in rig.of(ev.SessionRecipe)] == [32_768]


THOUGHT: dict[str, Callable[[], FakeServer]] = {
    "openai": lambda: DetailsServer(
        [call("shell", {"command": "ls"}, thinking="Hm."), say("a"), say("b")]
    ),
    "ollama": lambda: OllamaServer(
        [call("shell", {"command": "ls"}, thinking="Hm."), say("a"), say("b")]
    ),
    "anthropic": lambda: AnthropicServer(
        [turn(Thought("Hm."), LIST), turn(Thought("So."), "a"), turn("b")], context=60_000
    ),
    "responses": lambda: ResponsesServer(
        [
            Output(items=(Reason(("Hm.",)), LIST)),
            Output(items=(Said("a"),)),
            Output(items=(Said("b"),)),
        ]
    ),
}


@pytest.mark.parametrize("kind", THOUGHT)
async def test_thinking_and_cache_settings_change_between_runs(rig: Rig, kind: str) -> None:
    """C18, PRV-5: no protocol refuses what follows, and each request replays as it was sent."""
    settings = Settings(rig)
    with THOUGHT[kind]() as server:
        rig.configure(server, context=60_000, effort="low")
        await rig.open(allow=("shell: *",))
        assert (await rig.ask()).why == "done"
        saved = await settings.save(
            await settings.show(),
            changed("models", "m", "effort", to="high"),
            changed("models", "m", "keep_reasoning", to="false"),
            changed("models", "m", "cache_control", to="ephemeral"),
            changed("models", "m", "cache_key", to="header"),
        )
        assert isinstance(saved, SettingsSaved)
        await rig.until(up.MeterChanged)
        assert (await rig.ask()).why == "done"
        assert server.violations == []
    before, after = (rig.of(ev.LlmRequest)[n].parameters for n in (0, -1))
    assert before != after
    recorded = rig.of(ev.SessionRecipe)
    assert all(not each.recipe.keep_reasoning for each in recorded)
    assert len(recorded) == (kind == "anthropic"), "where it is on if nothing is set"


async def test_keys_are_told_at_once(rig: Rig) -> None:
    """TUI-11: those that are other than usual; again when they are usual."""
    settings = Settings(rig)
    with ChatServer([]) as server:
        rig.configure(server)
        opened = await rig.open()
        assert opened.keys == ()
        shown = await settings.show()
        assert row(shown, "keys", "palette").default == "ctrl+p"
        assert row(shown, "keys", "palette").kind == "text"
        assert row(shown, "ui", "enter").choices == ("sends", "breaks")
        rig.tell(
            SaveSettings(
                changes=(
                    changed("keys", "palette", to="F6"),
                    changed("keys", "tour", to=""),
                    changed("ui", "enter", to="breaks"),
                ),
                version=shown.version,
            )
        )
        told = dict((await rig.until(up.KeysChanged)).keys)
        assert told["palette"] == "f6"
        assert told["tour"] == ""
        assert told["line_break"] == "enter"
        assert settings.values["keys"] == {"palette": "F6", "tour": ""}
        shown = await settings.show()
        assert row(shown, "keys", "tour").origin == "file"
        assert row(shown, "keys", "tour").value == ""
        rig.tell(
            SaveSettings(
                changes=(
                    changed("keys", "palette", to=None),
                    changed("keys", "tour", to=None),
                    changed("ui", "enter", to=None),
                ),
                version=shown.version,
            )
        )
        assert (await rig.until(up.KeysChanged)).keys == ()


async def test_a_key_that_clashes_is_not_saved(rig: Rig) -> None:
    """TUI-5: its row says why as it is typed."""
    settings = Settings(rig)
    with ChatServer([]) as server:
        rig.configure(server)
        await rig.open()
        wrong = changed("keys", "palette", to="ctrl+s")
        shown = await settings.show(wrong)
        assert "ctrl+s is the key of settings already" in row(shown, "keys", "palette").problem
        refused = await settings.save(shown, wrong)
        assert isinstance(refused, SettingsRefused)
        assert "ctrl+s is the key of settings already" in refused.reason
