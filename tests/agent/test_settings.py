"""The settings over the link: shown with what is not saved yet, saved all or none (TUI-5)."""

import json
import secrets
import tomllib
from pathlib import Path

import pytest

from nodwyn_tui.link.settings import (
    SaveSettings,
    SettingsRefused,
    SettingsSaved,
    SettingsShown,
)
from tests.agent.rig import Rig
from tests.agent.setting_front import Settings, changed, group, row

CASES = Path(__file__).parents[1] / "cases" / "files"
NAMES: list[str] = [*json.loads((CASES / "C73_names.json").read_text(encoding="utf-8")), ""]

FILE = """\
# mine
model = "here"          # leads
zeta = 1                # unknown, kept

[servers.lan]           # in the cellar
provider = "openai"
base_url = "http://127.0.0.1:9/v1"

[models.here]
server = "lan"
model = "some-model"
effort = "low"          # careful
price = { input = 2.0, tiers = [{ above = 1000, input = 4.0 }] }

[models.there]
server = "anthropic"
model = "claude-x"
"""


@pytest.fixture
async def settings(rig: Rig) -> Settings:
    """On a file of two models, whose servers are not there."""
    made = Settings(rig)
    made.file.write_text(FILE, encoding="utf-8")
    await rig.open()
    return made


async def test_each_row_says_what_counts_and_where_it_is_from(settings: Settings) -> None:
    """TUI-5, PRV-11: the file, the data that comes along, the defaults."""
    shown = await settings.show()
    assert shown.file == str(settings.file)
    assert group(shown, "model", "here").mark == "lead"
    effort = row(shown, "models", "here", "effort")
    assert (effort.value, effort.origin, effort.choices[0]) == ("low", "file", "off")
    assert row(shown, "models", "here", "price", "input").value == "2"
    assert row(shown, "models", "here", "price", "output").value == ""
    dialect = row(shown, "models", "here", "dialect")
    assert (dialect.value, dialect.origin) == ("compatible", "default")
    assert row(shown, "models", "here", "context").value == "32768"
    assert row(shown, "models", "there", "keep_reasoning").value == "true"
    assert row(shown, "window", "output_reserve").value == "8192"
    assert row(shown, "mode").choices == ("plan", "ask", "edits", "auto")
    assert row(shown, "fallback").choices == ("here", "there")
    assert row(shown, "fallback").source == "none"
    assert row(shown, "mode").later == "from the next session"
    assert all(each.help for every in shown.groups for each in every.rows)
    assert any("zeta" in problem for problem in shown.problems)
    assert int(row(shown, "models", "here", "low_water").value) < int(
        row(shown, "models", "here", "high_water").value
    )


async def test_where_fresh_context_stands_is_told_with_its_reason(settings: Settings) -> None:
    """ORD-9: what `auto` is for this model, by its protocol and its own settings."""
    shown = await settings.show()
    about = row(shown, "models", "here", "fresh").help
    assert about.startswith("auto is each_request here: what stands before rows that go is cached")
    there = row(shown, "models", "there", "fresh")
    assert (there.value, there.source) == ("auto", "on_change here")
    assert there.help.startswith("auto is on_change here: kept reasoning is bound to all before it")
    without = (
        changed("models", "there", "keep_reasoning", to="false"),
        changed("models", "there", "cache_control", to="ephemeral"),
    )
    shown = await settings.show(*without)
    about = row(shown, "models", "there", "fresh").help
    assert about.startswith("auto is each_request here: the last cache mark stands before")
    assert not row(shown, "window", "fresh").help.startswith("auto is")


async def test_a_setting_that_has_no_effect_says_why(settings: Settings) -> None:
    """TUI-5: only what applies to the model's provider is enabled."""
    shown = await settings.show()
    assert "ollama" in row(shown, "models", "here", "num_ctx").why_not
    assert "anthropic" in row(shown, "models", "here", "keep_reasoning").why_not
    assert row(shown, "models", "there", "keep_reasoning").why_not == ""
    assert "openai" in row(shown, "models", "there", "dialect").why_not
    assert "anthropic" in row(shown, "servers", "lan", "api_version").why_not
    assert row(shown, "models", "there", "cache_control").choices == ("off", "ephemeral", "1h")
    cerebras = await settings.show(changed("models", "here", "dialect", to="cerebras"))
    assert "cerebras" in row(cerebras, "models", "here", "cache_control").why_not


async def test_the_strategy_decides_what_else_applies(settings: Settings) -> None:
    """ROL-10, TUI-5: each says what it costs; the marks are trim's and compact's, the threshold is
    rollover's, and in `[window]` what any model uses applies.
    """
    shown = await settings.show()
    strategy = row(shown, "models", "here", "strategy")
    assert strategy.choices == ("trim", "rollover", "compact")
    assert len(set(strategy.meanings)) == len(strategy.choices)
    for name in (("window",), ("models", "here")):
        assert row(shown, *name, "threshold").why_not == "only with strategy = rollover"
        assert row(shown, *name, "high_water").why_not == ""
    own = await settings.show(changed("models", "here", "strategy", to="rollover"))
    assert row(own, "models", "here", "threshold").why_not == ""
    assert row(own, "models", "here", "threshold").value == "0.7"
    marks = "only with strategy = trim or compact"
    assert row(own, "models", "here", "high_water").why_not == marks
    assert row(own, "models", "here", "low_water").why_not == marks
    assert row(own, "models", "there", "threshold").why_not != ""
    assert row(own, "window", "threshold").why_not == ""
    assert row(own, "window", "high_water").why_not == ""
    all_of_them = await settings.show(changed("window", "strategy", to="rollover"))
    assert row(all_of_them, "window", "high_water").why_not == marks
    assert row(all_of_them, "window", "threshold").why_not == ""
    wrong = await settings.show(
        changed("window", "strategy", to="rollover"), changed("window", "threshold", to="0")
    )
    assert "above 0" in row(wrong, "window", "threshold").problem


async def test_what_is_typed_is_judged_as_the_file_is(settings: Settings) -> None:
    """C72: by the same rules and words, on the row itself."""
    wrong = (
        changed("models", "here", "high_water", to="plenty"),
        changed("models", "here", "max_output", to="-3"),
        changed("models", "there", "server", to="nowhere"),
    )
    shown = await settings.show(*wrong)
    assert "a whole number" in row(shown, *wrong[0].path).problem
    assert row(shown, *wrong[0].path).value == "plenty"
    assert "above 0" in row(shown, *wrong[1].path).problem
    assert "nowhere" in row(shown, *wrong[2].path).problem
    half = await settings.show(changed("models", "new", "server", to="lan"))
    assert "has no model" in row(half, "models", "new", "model").problem
    before = settings.file.read_text()
    refused = await settings.save(shown, *wrong, changed("fallback", to="there"))
    assert isinstance(refused, SettingsRefused)
    assert "high_water" in refused.reason
    assert settings.file.read_text() == before


async def test_saving_keeps_what_the_person_wrote(settings: Settings) -> None:
    """TUI-5: comments, order, unknown keys and what the screen does not show."""
    shown = await settings.show()
    saved = await settings.save(
        shown,
        changed("models", "here", "effort", to="high"),
        changed("models", "here", "price", "output", to="10"),
        changed("fallback", to="there"),
    )
    assert isinstance(saved, SettingsSaved)
    assert saved.count == 3
    text = settings.file.read_text()
    assert 'effort = "high"          # careful' in text
    assert "zeta = 1                # unknown, kept" in text
    here = settings.values["models"]["here"]
    assert here["price"] == {
        "input": 2.0,
        "tiers": [{"above": 1000, "input": 4.0}],
        "output": 10,
    }
    assert settings.values["fallback"] == "there"


async def test_what_is_being_saved_when_the_app_is_left_is_saved(settings: Settings) -> None:
    """C74: with Save it is there, and the changes that were not saved are not."""
    shown = await settings.show()
    await settings.show(changed("ui", "theme", to="nodwyn-light"))
    for mode in ("plan", "edits"):
        change = changed("mode", to=mode)
        settings.rig.tell(SaveSettings(changes=(change,), version=shown.version, over=True))
    await settings.rig.close()
    assert settings.values["mode"] == "edits"
    assert "ui" not in settings.values


async def test_a_wrong_entry_keeps_nothing_else_from_being_saved(rig: Rig) -> None:
    """C72: what was wrong before stays as it is, and is told on its row."""
    settings = Settings(rig)
    before = (CASES / "C72_wrong_content.toml").read_text()
    settings.file.write_text(before)
    await rig.open()
    shown = await settings.show()
    assert shown.problems
    saved = await settings.save(shown, changed("ui", "theme", to="nodwyn-light"))
    assert isinstance(saved, SettingsSaved)
    assert settings.values == {**tomllib.loads(before), "ui": {"theme": "nodwyn-light"}}


@pytest.mark.parametrize("name", NAMES)
async def test_a_model_of_any_name_is_added_and_taken_out(rig: Rig, name: str) -> None:
    """C73: one quoted key, whatever the name; and what named it goes with it."""
    settings = Settings(rig)
    settings.file.write_text("[servers.a]\nprovider = 'ollama'\nbase_url = 'http://127.0.0.1:9'\n")
    await rig.open()
    shown = await settings.show()
    new = [
        changed("models", name, "server", to="a"),
        changed("models", name, "model", to="m"),
        changed("models", name, "high_water", to="20000"),
        changed("models", name, "price", "input", to="1.5"),
        changed("models", name, "keep_alive", to="30m"),
    ]
    if name:
        new.append(changed("model", to=name))
    there = await settings.show(*new)
    assert group(there, "model", name).fresh
    assert isinstance(await settings.save(shown, *new), SettingsSaved)
    assert settings.values["models"] == {
        name: {
            "server": "a",
            "model": "m",
            "high_water": 20000,
            "price": {"input": 1.5},
            "keep_alive": "30m",
        }
    }
    shown = await settings.show()
    assert row(shown, "models", name, "high_water").value == "20000"
    gone = await settings.save(shown, changed("models", name, to=None))
    assert isinstance(gone, SettingsSaved), gone
    assert "models" not in settings.values
    assert "model" not in settings.values


async def test_a_new_model_on_an_anthropic_server_asks_for_its_cache(settings: Settings) -> None:
    """PRV-3: written to its entry, unless something else was chosen."""
    shown = await settings.show()
    await settings.save(
        shown,
        changed("models", "a", "server", to="anthropic"),
        changed("models", "a", "model", to="m"),
        changed("models", "b", "server", to="anthropic"),
        changed("models", "b", "model", to="m"),
        changed("models", "b", "cache_control", to="1h"),
    )
    models = settings.values["models"]
    assert models["a"]["cache_control"] == "ephemeral"
    assert models["b"]["cache_control"] == "1h"


async def test_what_an_editor_saved_meanwhile_is_kept(settings: Settings) -> None:
    """TUI-5: other keys are kept; the same key comes back, and nothing is written unless over."""
    shown = await settings.show()
    settings.file.write_text(FILE.replace('"low"', '"medium"') + "\n[ui]\ntheme = 'mine'\n")
    edited = settings.file.read_text()
    wanted = (changed("models", "here", "effort", to="high"), changed("fallback", to="there"))
    answer = await settings.save(shown, *wanted)
    assert isinstance(answer, SettingsShown)
    assert row(answer, "models", "here", "effort").theirs == "medium"
    assert row(answer, "models", "here", "effort").value == "high"
    assert row(answer, "fallback").theirs is None
    assert settings.file.read_text() == edited
    assert isinstance(await settings.save(shown, wanted[1]), SettingsSaved)
    assert settings.values["ui"] == {"theme": "mine"}
    assert settings.values["fallback"] == "there"
    assert isinstance(await settings.save(shown, *wanted), SettingsShown)
    assert isinstance(await settings.save(shown, *wanted, over=True), SettingsSaved)
    assert settings.values["models"]["here"]["effort"] == "high"
    assert settings.values["ui"] == {"theme": "mine"}


async def test_a_file_that_is_not_toml_is_left_alone(settings: Settings) -> None:
    """C72: what is wrong is told, with its line."""
    shown = await settings.show()
    settings.file.write_text("mode = \n")
    broken = await settings.show(changed("mode", to="plan"))
    assert any("config.toml:1" in problem for problem in broken.problems)
    answer = await settings.save(shown, changed("mode", to="plan"))
    assert isinstance(answer, SettingsRefused)
    assert settings.file.read_text() == "mode = \n"


async def test_a_file_that_was_deleted_is_made_anew(settings: Settings) -> None:
    shown = await settings.show()
    settings.file.unlink()
    assert isinstance(await settings.save(shown, changed("mode", to="plan")), SettingsSaved)
    assert settings.values == {"mode": "plan"}
    answer = await settings.save(shown, changed("models", "here", "effort", to="high"))
    assert isinstance(answer, SettingsShown)
    assert row(answer, "models", "here", "effort").theirs == ""


async def test_a_folder_that_takes_no_file_is_told(settings: Settings) -> None:
    shown = await settings.show()
    settings.file.unlink()
    settings.file.mkdir()
    answer = await settings.save(shown, changed("mode", to="plan"))
    assert isinstance(answer, SettingsRefused)
    assert "config.toml" in answer.reason


async def test_a_table_that_an_editor_changed_is_not_taken_out(settings: Settings) -> None:
    """TUI-5: nothing made meanwhile is lost, where no row can show it."""
    shown = await settings.show()
    settings.file.write_text(FILE.replace('"low"', '"medium"'))
    answer = await settings.save(shown, changed("models", "here", to=None))
    assert isinstance(answer, SettingsRefused)
    assert "models.here" in answer.reason
    assert "here" in settings.values["models"]
    again = await settings.show()
    saved = await settings.save(again, changed("models", "here", to=None))
    assert isinstance(saved, SettingsSaved)


async def test_a_file_that_is_read_only_stays(settings: Settings) -> None:
    shown = await settings.show()
    settings.file.chmod(0o444)
    answer = await settings.save(shown, changed("mode", to="plan"))
    assert isinstance(answer, SettingsRefused)
    assert "read-only" in answer.reason
    assert settings.file.read_text() == FILE


async def test_a_key_in_a_places_stead_is_refused_and_never_shown(settings: Settings) -> None:
    """SEC-1: typed into the wrong field, it comes back nowhere."""
    key = secrets.token_hex(20)
    made = (
        changed("servers", "lan", "credential", to=key),
        changed("servers", "lan", "base_url", to=f"http://me:{key}@127.0.0.1/v1"),
    )
    shown = await settings.show(*made)
    assert "the key itself" in row(shown, "servers", "lan", "credential").problem
    refused = await settings.save(shown, *made)
    assert isinstance(refused, SettingsRefused)
    assert key not in str(settings.rig.events)
    assert key not in settings.file.read_text()
