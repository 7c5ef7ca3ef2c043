"""The settings screen: found, changed, checked, undone, saved, left (TUI-5)."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from textual import events
from textual.pilot import Pilot

from nodwyn_tui.link import settings as sets
from nodwyn_tui.ui.screens.settings import SettingsScreen
from nodwyn_tui.ui.screens.settings_editing import REST_S
from tests.ui import scenes
from tests.ui.backend import OPENED, Stage, press, settled
from tests.ui.settings_scene import FILE, File

CAP = ("models", "local", "max_output")


class Opened:
    """The settings, open over a conversation."""

    def __init__(self, stage: Stage, file: File, pilot: Pilot[object]) -> None:
        self.stage, self.file, self.pilot = stage, file, pilot

    @property
    def screen(self) -> SettingsScreen:
        screen = self.stage.screen.settings
        assert screen is not None
        return screen

    @property
    def values(self) -> dict[tuple[str, ...], str | None]:
        return self.screen.changes.values

    async def press(self, *keys: str) -> str:
        await press(self.pilot, *keys)
        await settled(self.pilot)
        return self.stage.text()

    async def to(self, *path: str) -> str:
        """Mark a row."""
        self.screen.to_row(path)
        return await self.press()


@asynccontextmanager
async def opened(size: tuple[int, int] = (80, 24), *problems: str) -> AsyncIterator[Opened]:
    stage = Stage(*scenes.conversation())
    file = File(stage)
    file.problems = problems
    async with stage.app.run_test(size=size) as pilot:
        await settled(pilot)
        await press(pilot, "ctrl+s")
        await settled(pilot)
        while stage.screen.settings is None or stage.screen.settings.picture is None:
            await settled(pilot)
        yield Opened(stage, file, pilot)


async def test_opened_by_key_command_and_palette() -> None:
    stage = Stage(*scenes.conversation())
    File(stage)
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        for keys in (("ctrl+s",), (*"/settings", "enter"), ("ctrl+p", *"settings", "enter")):
            await press(pilot, *keys)
            await settled(pilot)
            assert "all saved" in stage.text()
            await press(pilot, "escape")
            await settled(pilot)
            assert stage.app.screen is stage.screen
            assert stage.screen.prompt.has_focus


def test_nothing_of_the_settings_is_loaded_before_they_are_opened() -> None:
    """PERF-1."""
    code = (
        "import sys\nimport nodwyn_tui.ui.app\n"
        "print([name for name in sys.modules if name.startswith('nodwyn_tui.ui') and"
        " name.rpartition('.')[2].startswith(('settings', 'setting_', 'trial_', 'listing'))])"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=True
    )
    assert eval(ran.stdout) == ["nodwyn_tui.ui.screens.setting_up"]


async def test_rows_show_value_origin_and_help() -> None:
    async with opened() as at:
        text = await at.press("tab", *["down"] * 5)
        assert "ephemeral" in text
        assert "your file" in text
        assert "What is asked of the prompt cache." in text
        assert "default: off · from your file · takes effect from the next request on" in text
        assert "openrouter's listing, 2 hours old" in await at.to(
            *(["models", "local", "price"]), "input"
        )


async def test_what_does_not_apply_says_why_and_takes_nothing() -> None:
    async with opened((120, 36)) as at:
        text = await at.to("models", "cloud", "num_ctx")
        assert "Does not apply: only where the server speaks ollama's own protocol" in text
        text = await at.press("enter")
        assert "loaded context does not apply" in text
        await at.press("right", "space", *"12", "delete")
        assert at.values == {}


async def test_a_value_is_typed_and_checked_as_it_is() -> None:
    """What is wrong stands at the row before Enter, and is not saved."""
    async with opened() as at:
        await at.to(*CAP)
        await press(at.pilot, "enter", *"x")
        await asyncio.sleep(REST_S + 0.05)
        text = await at.press()
        assert "! “32000x” is not a whole number" in text
        assert at.values == {}
        text = await at.press("enter")
        assert at.values == {CAP: "32000x"}
        assert "1 not saved" in text
        text = await at.press("home", "s")
        assert "not saved yet: reply cap" in text
        assert at.screen.row is not None
        assert at.screen.row.path == CAP
        assert at.file.saves == []
        await at.press("enter", "backspace", "enter")
        assert at.values == {}, "the file's own value is no change"


async def test_escape_leaves_a_value_as_it_was() -> None:
    async with opened() as at:
        await at.to(*CAP)
        text = await at.press("enter", *"99", "escape")
        assert "32000 " in text
        assert at.values == {}
        assert at.stage.backend.of(sets.ShowSettings)[-1] == sets.ShowSettings()


async def test_pasted_text_is_one_line_and_inert() -> None:
    async with opened() as at:
        await at.to("servers", "ollama", "base_url")
        await press(at.pilot, "enter", "ctrl+u")
        at.stage.app.post_message(events.Paste("http://[b]x[/]\x1b[31m\n:1"))
        text = await at.press("enter")
        assert at.values == {("servers", "ollama", "base_url"): "http://[b]x[/][31m:1"}
        assert "http://[b]x[/][31m:1" in text


async def test_choices_switches_and_defaults() -> None:
    async with opened() as at:
        marks = ("models", "local", "cache_control")
        await at.to(*marks)
        await at.press("right")
        assert at.values == {marks: "1h"}
        await at.press("left", "left")
        assert at.values == {marks: "off"}
        await at.press("enter", *"12", "enter")
        assert at.values == {marks: "12h"}
        await at.press("delete")
        assert at.values == {marks: None}
        images = ("models", "local", "images")
        await at.to(*images)
        text = await at.press("enter")
        assert at.values[images] == "true"
        assert " on " in text
        await at.press("space")
        assert at.values[images] == "false"
        text = await at.press("backspace", "backspace")
        assert images not in at.values
        assert "is at its default already" in text


async def test_each_choice_says_what_it_costs() -> None:
    """TUI-5: as it is turned to, before anything is saved."""
    async with opened((120, 36)) as on:
        await on.press("tab")
        assert "trim: older results leave" in await on.to("window", "strategy")
        seen = await on.press("right")
        assert "rollover: the window begins anew without a note" in seen
        assert "trim: older" not in seen
        seen = await on.press("right")
        assert "compact: the window begins anew with a note" in seen


async def test_undo_and_redo() -> None:
    async with opened() as at:
        marks = ("models", "local", "cache_control")
        await at.to(*marks)
        await at.press("right", "right")
        assert at.values == {marks: "12h"}
        await at.press("ctrl+z")
        assert at.values == {marks: "1h"}
        text = await at.press("ctrl+z", "ctrl+z")
        assert at.values == {}
        assert "nothing to undo" in text
        await at.press("ctrl+y", "ctrl+y")
        assert at.values == {marks: "12h"}
        assert "nothing to do again" in await at.press("ctrl+y")


async def test_saved_as_a_set_and_undone_after_it() -> None:
    async with opened() as at:
        marks = ("models", "local", "cache_control")
        await at.to(*marks)
        await at.press("right")
        await at.to(*CAP)
        text = await at.press("enter", "0", "enter")
        assert "2 not saved" in text
        text = await at.press("ctrl+s")
        assert at.file.saves[0].version == "1"
        assert {c.path: c.value for c in at.file.saves[0].changes} == {marks: "1h", CAP: "320000"}
        assert "saved 2 changes; the theme: at once" in text
        assert "all saved" in text
        await at.press("ctrl+z")
        assert at.values == {marks: "ephemeral", CAP: "32000"}
        await at.press("s")
        assert at.file.saves[1].version == "1'"
        assert "nothing to save" in await at.press("s")


async def test_a_list_is_written_a_line_an_item() -> None:
    async with opened((120, 36)) as at:
        allow = ("approvals", "allow")
        text = await at.to(*allow)
        assert "shell: git status · shell: uv run pytest *" in text
        await at.press("enter", "enter", *"shell: ls", "ctrl+s")
        assert at.values == {allow: "shell: git status\nshell: uv run pytest *\nshell: ls"}
        await at.press("enter", *"x", "escape")
        assert at.values == {allow: "shell: git status\nshell: uv run pytest *\nshell: ls"}


@pytest.mark.parametrize(("key", "saved", "theme"), [
    ("s", 1, "nodwyn-light"), ("t", 0, "nodwyn-dark"),
])  # fmt: skip
async def test_leaving_asks_what_becomes_of_changes(key: str, saved: int, theme: str) -> None:
    """A theme is seen at once, and goes with what is thrown away."""
    async with opened() as at:
        await at.to("ui", "theme")
        await at.press("right")
        assert at.stage.app.theme == "nodwyn-light"
        text = await at.press("escape")
        assert "1 change is not saved." in text
        await at.press("c")
        assert at.values == {("ui", "theme"): "nodwyn-light"}
        await at.press("escape", key)
        assert at.stage.app.screen is at.stage.screen
        assert len(at.file.saves) == saved
        assert at.stage.app.theme == theme
        assert ("saved 1 change" in at.stage.text()) == bool(saved)


async def test_a_refused_save_keeps_the_changes() -> None:
    async with opened() as at:
        at.stage.backend.answers[sets.SaveSettings] = lambda _: [
            sets.SettingsRefused(reason="the disk is full")
        ]
        await at.to("models", "local", "images")
        await at.press("enter", "escape")
        text = await at.press("s")
        assert "nothing was saved: the disk is full" in text
        assert len(at.values) == 1


async def test_what_is_changed_while_it_is_saved_stays_a_change() -> None:
    async with opened() as at:
        saving = at.stage.backend.answers.pop(sets.SaveSettings)
        images, marks = ("models", "local", "images"), ("models", "local", "cache_control")
        await at.to(*images)
        await at.press("enter", "s")
        await at.to(*marks)
        await at.press("right")
        [asked] = at.stage.backend.of(sets.SaveSettings)
        at.stage.backend.tell(*saving(asked))
        text = await at.press()
        assert at.values == {marks: "1h"}
        assert "1 not saved" in text
        at.stage.backend.answers[sets.SaveSettings] = saving
        await at.press("s")
        assert at.values == {}
        assert at.file.saves[-1].version == "1'"


async def test_an_editors_save_meanwhile_is_decided_by_row() -> None:
    """What only one side touched is not asked about; the last answer saves."""
    async with opened((120, 36)) as at:
        marks, images = ("models", "local", "cache_control"), ("models", "local", "images")
        await at.to(*marks)
        await at.press("right")
        await at.to(*images)
        await at.press("enter")
        await at.to(*CAP)
        await at.press("enter", "0", "enter")
        at.file.edit("models/local/max_output", "7")
        at.file.edit("models/local/cache_control", "off")
        text = await at.press("s")
        assert "an editor saved “7” meanwhile: m keeps yours, u uses that one" in text
        assert len(at.file.saves) == 1
        assert len(at.values) == 3
        first = at.screen.row
        assert first is not None
        await at.press("u")
        assert first.path not in at.values
        assert at.screen.row is not None
        assert at.screen.row.path != first.path
        await at.press("m")
        assert at.values == {}
        last = at.file.saves[-1]
        assert last.version == "1ee"
        assert len(last.changes) == 2
        await at.press("ctrl+z")
        kept = CAP if first.path != CAP else marks
        assert at.values[kept] == at.file.edited[kept], "what was written over comes back"


async def test_looked_for_over_all_pages() -> None:
    async with opened() as at:
        text = await at.press("slash", *"price out")
        assert "2 settings" in text
        assert "price: input" not in text
        await at.press("down", "down")
        assert at.screen.row is not None
        assert at.screen.row.path == ("models", "cloud", "price", "output")
        await at.press("enter", "ctrl+u", "3", "enter")
        assert at.values == {("models", "cloud", "price", "output"): "3"}
        text = await at.press("escape")
        assert "price: input" in text
        assert at.screen.page == ("model", "cloud")
        assert "0 settings" in await at.press("slash", *"nosuchthing", "enter")


async def test_a_model_is_added_from_the_listings_under_a_proposed_name() -> None:
    async with opened() as at:
        text = await at.press("a")
        assert "262k · yours: local" in text
        assert "$0.6 in, $2.5 out" in text
        assert "z/[bold]odd[/]" in text
        assert "groq: no key" in text
        text = await at.press(*"kimi", "enter")
        assert "kimi-k3" in text
        text = await at.press("backspace", "backspace", "backspace", "enter")
        assert at.values == {
            ("models", "kimi", "server"): "openrouter",
            ("models", "kimi", "model"): "moonshotai/kimi-k3",
        }
        assert at.screen.page == ("model", "kimi")
        assert "kimi is added; s saves it" in text
        await at.press("ctrl+z")
        assert at.values == {}


async def test_a_model_that_no_server_lists_is_typed() -> None:
    async with opened() as at:
        await at.press("a", *"groq/own-model:1", "enter")
        text = await at.press("ctrl+u", *"local")
        assert "there is an entry local already" in text
        await at.press("enter", "2", "enter")
        assert at.values[("models", "local2", "model")] == "own-model:1"


async def test_a_word_that_is_not_suggested_is_typed() -> None:
    """A text with suggestions takes others; a choice does not."""
    async with opened() as at:
        effort = ("models", "local", "effort")
        text = await at.to(*effort)
        assert "the server's own" in text
        await at.press("enter", *"max", "enter")
        assert at.values == {effort: "max"}
        await at.press("enter", *"med", "enter")
        assert at.values == {effort: "medium"}
        marks = ("models", "local", "cache_control")
        await at.to(*marks)
        await at.press("enter", *"3h", "enter", "escape")
        assert at.values == {effort: "medium"}


async def test_a_server_of_ones_own_is_added() -> None:
    async with opened() as at:
        await at.press(*["down"] * 5)
        assert at.screen.page == ("add", "server")
        text = await at.press("enter", *"ollama")
        assert "there is a server ollama already" in text
        await at.press("2", "enter", "ctrl+u", *"http://127.0.0.1:9/v1", "enter")
        assert at.values == {
            ("servers", "ollama2", "provider"): "openai",
            ("servers", "ollama2", "base_url"): "http://127.0.0.1:9/v1",
        }


async def test_lead_fallback_and_removal() -> None:
    async with opened() as at:
        await at.press("down", "f")
        assert at.values == {("fallback",): None}
        await at.press("f", "l")
        assert at.values == {("model",): "cloud", ("fallback",): None}
        text = await at.press("d")
        assert "It leads: name another one with l." in text
        await at.press("n")
        assert ("models", "cloud") not in at.values
        text = await at.press("d", "y")
        assert at.values[("models", "cloud")] is None
        assert "cloud" not in text
        assert "cloud" in await at.press("ctrl+z")


async def test_removing_what_is_not_saved_leaves_nothing() -> None:
    async with opened() as at:
        await at.press("a", *"kimi", "enter", "enter", "d", "y")
        assert at.values == {}


async def test_a_model_is_tested_once_its_price_is_agreed_to() -> None:
    """PRV-12: nothing is sent before."""
    async with opened() as at:
        backend = at.stage.backend
        backend.answers[sets.TestModel] = lambda told: (
            [sets.TrialStep(label="answers", good=True, detail="in 0.8 s")]
            if told.agreed
            else [sets.TrialPriced(model="local", prompt_tokens=12_300, cost_usd=0.0312)]
        )
        text = await at.press("t")
        assert "about 12,300 tokens" in text
        assert "$0.0312" in text
        assert [told.agreed for told in backend.of(sets.TestModel)] == [False]
        text = await at.press("enter")
        assert "✓ answers  in 0.8 s" in text
        backend.tell(
            sets.TrialStep(label="calls tools", good=False),
            sets.TrialStep(label="reads its cache", good=None, detail="not reported"),
        )
        text = await at.press("escape")
        assert "✗ calls tools" in text
        assert "? reads its cache  not reported" in text
        assert len(backend.of(sets.StopTrial)) == 1
        await at.press("escape")
        assert at.stage.app.screen is at.screen


async def test_a_model_is_tested_as_it_is_changed() -> None:
    """The worker goes by the changes that it was shown last."""
    async with opened() as at:
        await at.to("models", "local", "images")
        await at.press("enter", "t")
        told = [
            c for c in at.stage.backend.told if isinstance(c, sets.ShowSettings | sets.TestModel)
        ]
        assert told[-1] == sets.TestModel(model="local")
        assert isinstance(told[-2], sets.ShowSettings)
        assert len(told[-2].changes) == 1


async def test_a_trial_that_cannot_be_done_says_why() -> None:
    async with opened() as at:
        at.stage.backend.answers[sets.TestModel] = lambda _: [
            sets.TrialEnded(model="local", error="no key", remedy="set one with k")
        ]
        text = await at.press("t")
        assert "✗ no key" in text
        assert "set one with k" in text


async def test_a_key_is_typed_unseen_and_kept_where_it_is_said() -> None:
    async with opened() as at:
        backend = at.stage.backend
        backend.answers[sets.SetCredential] = lambda told: [
            sets.CredentialKept(server=told.server, place=f"{told.kept_in}:{told.server}")
        ]
        text = await at.press("down", "k", *"s3cret", "tab")
        assert "s3cret" not in text
        assert "••••••" in text
        assert "in a file that only you can read" in text
        text = await at.press("enter")
        [kept] = backend.of(sets.SetCredential)
        assert (kept.server, kept.key, kept.kept_in) == ("openrouter", "s3cret", "file")
        assert "the key of openrouter is kept: file:openrouter" in text
        await at.press("k", "enter", "escape")
        assert len(backend.of(sets.SetCredential)) == 1
        await at.press("k", "ctrl+d")
        assert backend.of(sets.SetCredential)[1].key == ""


async def test_a_key_that_the_keyring_does_not_take_is_offered_to_a_file() -> None:
    """It does not have to be typed again; nothing of it is done unasked."""
    async with opened() as at:
        backend = at.stage.backend
        backend.answers[sets.SetCredential] = lambda told: [
            sets.CredentialKept(server=told.server, place="file:keys/ollama")
            if told.kept_in == "file"
            else sets.CredentialKept(server=told.server, error="there is no keyring here")
        ]
        text = await at.press("k", *"s3cret", "enter")
        assert "there is no keyring here" in text
        assert "••••••" in text
        text = await at.press("enter")
        assert [told.kept_in for told in backend.of(sets.SetCredential)] == ["keyring", "file"]
        assert {told.key for told in backend.of(sets.SetCredential)} == {"s3cret"}
        assert "is kept: file:keys/ollama" in text


async def test_one_side_at_a_time_where_it_is_narrow() -> None:
    """TUI-11: at 60 x 16 the list and the rows take turns; Esc goes back to the list first."""
    async with opened((60, 16)) as at:
        assert "Models" in at.stage.text()
        assert "reply cap" not in at.stage.text()
        text = await at.press("enter")
        assert "reply cap" in text
        assert "Models" not in text
        text = await at.press("escape")
        assert "Models" in text
        assert at.stage.app.screen is at.screen
        await at.press("escape")
        assert at.stage.app.screen is at.stage.screen


async def test_mouse() -> None:
    """A click marks, a second one does what Enter does."""
    async with opened() as at:
        await at.pilot.click("#setting-pages", offset=(4, 2))
        text = await at.press()
        assert at.screen.page == ("model", "cloud")
        y = next(n for n, line in enumerate(text.split("\n")) if "reply cap" in line)
        y -= at.screen.rows.region.y
        await at.pilot.click("#setting-rows", offset=(4, y))
        await at.press()
        assert at.screen.row is not None
        assert at.screen.row.label == "reply cap"
        assert at.screen.field is None
        await at.pilot.click("#setting-rows", offset=(4, y))
        await at.press()
        assert at.screen.field is not None


async def test_a_new_worker_is_asked_again_and_changes_are_kept() -> None:
    """TUI-12."""
    async with opened() as at:
        await at.to("models", "local", "images")
        await at.press("enter")
        asked = len(at.stage.backend.of(sets.ShowSettings))
        at.stage.backend.tell(OPENED)
        await at.press()
        later = at.stage.backend.of(sets.ShowSettings)[asked:]
        assert [len(told.changes) for told in later] == [1]


async def test_a_question_that_comes_meanwhile_is_told() -> None:
    """TUI-10."""
    async with opened() as at:
        at.stage.backend.tell(*scenes.approval()[-2:])
        assert "a call waits for your answer in the conversation" in await at.press()


async def test_help_lists_the_keys() -> None:
    async with opened((120, 60)) as at:
        text = await at.press("f1")
        assert "save all changes" in text
        assert "set the server's key" in text


async def test_fast_keys_keep_their_order() -> None:
    """Keys of one burst: typed letters and the Enter behind them."""
    async with opened() as at:
        await at.to(*CAP)
        for key in ("enter", "backspace", "7", "enter", "s"):
            character = key if len(key) == 1 else None
            at.stage.app.post_message(events.Key(key, character))
        await at.press()
        assert [c.value for c in at.file.saves[0].changes] == ["32007"[:4] + "7"]


@pytest.mark.parametrize("size", [(80, 24), (120, 36), (60, 16)])
async def test_what_is_wrong_beside_the_settings_is_told_at_any_size(size: tuple[int, int]) -> None:
    """C72: how much is wrong stands in the title; a file's name takes no room of what is."""
    whole = "is not TOML: Illegal character. Nothing of the file is used until this is mended"
    async with opened(size, f"{FILE}:7: {whole}") as settings:
        assert "1 problem" in settings.stage.text()
        text = " ".join((await settings.press("right")).replace("│", " ").split())
        assert "! line 7: is not TOML" in text
        for word in whole.split():
            assert word in text
    async with opened(size, f"{FILE}: ui.themee: is not known", f"{FILE}: x: is none") as settings:
        text = await settings.press("right")
        assert "2 problems" in text
        assert "! ui.themee: is not known" in text
        assert "! x: is none" in text
