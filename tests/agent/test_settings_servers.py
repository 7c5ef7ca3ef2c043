"""What the settings ask of servers: listings, trials and keys (TUI-5, PRV-11, PRV-12)."""

import asyncio
import secrets
import stat
import threading
import tomllib
from collections.abc import Iterator
from pathlib import Path

import keyring
import pytest

from nodwyn_tui.domain import events as ev
from nodwyn_tui.link import events as up
from nodwyn_tui.link.settings import (
    CredentialKept,
    ListServerModels,
    ServerModelsListed,
    SetCredential,
    SettingsSaved,
    StopTrial,
    TestModel,
    TrialEnded,
    TrialPriced,
    TrialStep,
)
from tests.agent.rig import Rig
from tests.agent.setting_front import Settings, changed, row
from tests.fakes.chat_server import ChatServer
from tests.fakes.keyring_file import VARIABLE, FileRing
from tests.fakes.script import call, error, say

PRICES = {"prompt": "0.000001", "completion": "0.000002"}
ENTRY = {"context_length": 50_000, "pricing": PRICES}


@pytest.fixture(autouse=True)
def ring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The keyring's file."""
    file = tmp_path / "keyring.json"
    monkeypatch.setenv(VARIABLE, str(file))
    before = keyring.get_keyring()
    keyring.set_keyring(FileRing())
    yield file
    keyring.set_keyring(before)


async def test_a_listing_tells_figures_and_fills_the_rows(rig: Rig) -> None:
    """PRV-11: each figure with its source; a server that is down is told beside."""
    settings = Settings(rig)
    with ChatServer([], entry=ENTRY) as server:
        rig.configure(server)
        with settings.file.open("a") as file:
            file.write("[servers.down]\nprovider = 'openai'\nbase_url = 'http://127.0.0.1:9/v1'\n")
        await rig.open()
        rig.tell(ListServerModels())
        listed = await rig.until(ServerModelsListed)
        (model,) = [each for each in listed.models if each.server == "fake1"]
        assert (model.entry, model.context) == ("m", 50_000)
        assert (model.input_usd, model.output_usd) == (1.0, 2.0)
        assert any("down" in failure for failure in listed.failures)
        context = row(await settings.show(), "models", "m", "context")
        assert (context.value, context.origin) == ("50000", "listing")
        assert context.source == "fake1's /models context_length"
        assert row(await settings.show(), "models", "m", "price", "output").origin == "listing"


async def test_a_server_that_is_not_saved_yet_is_asked(rig: Rig) -> None:
    settings = Settings(rig)
    with ChatServer([], entry=ENTRY) as server:
        await rig.open()
        await settings.show(
            changed("servers", "mine", "provider", to="openai"),
            changed("servers", "mine", "base_url", to=server.base_url),
        )
        rig.tell(ListServerModels(server="mine"))
        listed = await rig.until(ServerModelsListed)
        assert [each.id for each in listed.models] == [server.model]
        rig.tell(ListServerModels(server="nobody's"))
        assert "nobody's" in (await rig.until(ServerModelsListed)).failures[0]


async def test_a_trial_is_priced_then_tells_its_steps(rig: Rig) -> None:
    """PRV-12: nothing is sent before the person agreed, and nothing of it is in the log."""
    with ChatServer([call("fs-list", {}), say("marigold"), say("red")], entry=ENTRY) as server:
        rig.configure(server)
        await rig.open()
        rig.tell(TestModel(model="m"))
        priced = await rig.until(TrialPriced)
        assert priced.prompt_tokens > 0
        assert priced.cost_usd is not None
        assert server.bodies == []
        rig.tell(TestModel(model="m", agreed=True))
        ended = await rig.until(TrialEnded)
        assert (ended.model, ended.error) == ("m", "")
        steps = {step.label: step.good for step in rig.told(TrialStep)}
        assert len(steps) == len(rig.told(TrialStep))
        assert steps["reachable"] is steps["authorised"] is steps["tools"] is True
        assert "cost" in steps
    assert rig.of(ev.LlmRequest) == []


async def test_a_refused_trial_names_its_remedy(rig: Rig) -> None:
    with ChatServer([error(401, {"error": {"message": "no such key"}})]) as server:
        rig.configure(server)
        await rig.open()
        rig.tell(TestModel(model="m", agreed=True))
        ended = await rig.until(TrialEnded)
        assert "no such key" in ended.error
        assert ended.remedy
        assert {step.label: step.good for step in rig.told(TrialStep)}["authorised"] is False


async def test_a_trial_is_stopped_beside_a_session(rig: Rig) -> None:
    gate = threading.Event()
    with ChatServer([say("late", gate=gate), say("hello")]) as server:
        rig.configure(server)
        await rig.open()
        rig.tell(TestModel(model="m", agreed=True))
        while not server.bodies:
            await asyncio.sleep(0.01)
        rig.tell(TestModel(model="m", agreed=True))
        assert "another model" in (await rig.until(TrialEnded)).error
        rig.tell(StopTrial())
        assert "stopped" in (await rig.until(TrialEnded)).error
        gate.set()
        server.bodies.clear()  # a trial is in no log
        assert (await rig.ask()).text == "hello"


@pytest.mark.parametrize("kept_in", ["keyring", "file"])
async def test_a_key_is_kept_used_and_forgotten(rig: Rig, ring: Path, kept_in: str) -> None:
    """SEC-1, C74: where it is goes into the file, and nothing else; the session has it at once."""
    settings, key = Settings(rig), secrets.token_hex(20)
    with ChatServer([say("hello")], key=key) as server:
        rig.configure(server)
        await rig.open()
        before = settings.values
        rig.tell(SetCredential(server="fake1", key=f" Bearer {key}\n", kept_in=kept_in))
        kept = await rig.until(CredentialKept)
        assert (kept.error, kept.place.partition(":")[0]) == ("", kept_in)
        assert settings.values["servers"]["fake1"]["credential"] == kept.place
        assert {**settings.values["servers"]["fake1"]}.pop("credential") == kept.place
        assert settings.values["model"] == before["model"]
        assert settings.values["models"] == before["models"]
        await rig.until(up.MeterChanged)
        assert (await rig.ask(f"never say {key}")).why == "done"
    if kept_in == "file":
        file = rig.home / kept.place.partition(":")[2]
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert file.read_text() == key
    rig.tell(SetCredential(server="fake1", key=""))
    assert (await rig.until(CredentialKept)).place == ""
    assert settings.values == before
    assert key not in str(rig.events)
    assert rig.opened is not None
    assert key not in Path(rig.opened.log_path).read_text()
    assert key not in settings.file.read_text()
    assert not ring.exists() or key not in ring.read_text()


async def test_a_key_that_no_header_holds_is_refused_by_its_place(rig: Rig) -> None:
    """C71: the sign is named by its position, and the key is not shown."""
    settings, key = Settings(rig), secrets.token_hex(10)
    await rig.open()
    rig.tell(SetCredential(server="anthropic", key=f"{key}\u200b{key}", kept_in="file"))
    kept = await rig.until(CredentialKept)
    assert "character 21" in kept.error
    assert key not in kept.error
    assert not settings.file.exists()
    rig.tell(SetCredential(server="nobody's", key=key, kept_in="file"))
    assert "save it first" in (await rig.until(CredentialKept)).error


async def test_a_kept_key_leaves_what_leads_alone(rig: Rig) -> None:
    """C74: the file's other changes can still be saved after it."""
    settings = Settings(rig)
    settings.file.write_text("# mine\nmode = 'plan'\n")
    await rig.open()
    shown = await settings.show()
    rig.tell(SetCredential(server="anthropic", key=secrets.token_hex(20), kept_in="file"))
    assert (await rig.until(CredentialKept)).error == ""
    assert isinstance(await settings.save(shown, changed("mode", to="edits")), SettingsSaved)
    values = tomllib.loads(settings.file.read_text())
    assert values == {
        "mode": "edits",
        "servers": {"anthropic": {"credential": "file:keys/anthropic"}},
    }
