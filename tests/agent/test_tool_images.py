"""Images that the model reads with a tool (IMG-8)."""

import hashlib
from pathlib import Path

import pytest

from nodwyn_tui.domain import events as ev
from nodwyn_tui.link import commands
from nodwyn_tui.link import events as up
from nodwyn_tui.link.images import ImagesWithheld
from tests.agent.rig import Rig
from tests.agent.shots import shot
from tests.agent.test_images import PROTOCOLS, carried, chat
from tests.fakes.ollama_server import OllamaServer
from tests.fakes.script import call, calls, say


@pytest.mark.parametrize("make", PROTOCOLS)
async def test_an_image_file_is_shown(rig: Rig, make: object) -> None:
    """IMG-8: to each protocol, in its own form; the result says so in a short line."""
    assert callable(make)
    read = calls(("fs-read", {"path": "a.png"}), ("fs-read", {"path": "b.txt"}))
    with make(read, say("Seen.")) as server:
        rig.configure(server)
        shot(rig.workspace, "a.png")
        (rig.workspace / "b.txt").write_text("text\n")
        await rig.open()
        assert (await rig.ask("look")).why == "done"
    assert server.violations == []
    results = sorted(rig.of(ev.ToolResult), key=lambda result: not result.images)
    (image,) = results[0].images
    assert carried(server) == [image.sha256]
    assert (image.width, image.height, image.tokens) == (1280, 720, 1105)
    assert "a.png is an image (1280x720" in results[0].text
    assert "instruction" in results[0].text
    assert results[1].images == ()
    store = rig.workspace / ".nodwyn" / "attachments" / image.sha256
    assert hashlib.sha256(store.read_bytes()).hexdigest() == image.sha256


async def test_a_model_without_sight_is_told_in_words(rig: Rig) -> None:
    """IMG-8: for models that take images only."""
    with OllamaServer([call("fs-read", {"path": "a.png"}), say("No.")]) as server:
        rig.configure(server)
        shot(rig.workspace, "a.png")
        await rig.open()
        await rig.ask("look")
    (result,) = rig.of(ev.ToolResult)
    assert result.images == ()
    assert "is a PNG image" in result.text
    assert not (rig.workspace / ".nodwyn" / "attachments").exists()


async def test_a_broken_image_is_the_calls_error(rig: Rig) -> None:
    with chat(call("fs-read", {"path": "a.png"}), say("Oh.")) as server:
        rig.configure(server)
        path = shot(rig.workspace, "a.png")
        path.write_bytes(path.read_bytes()[:300])
        await rig.open()
        assert (await rig.ask("look")).why == "done"
    (result,) = rig.of(ev.ToolResult)
    assert result.is_error
    assert "a.png is damaged" in result.text


async def test_the_confirm_rule_holds_for_it_too(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """IMG-6, IMG-8: read for the host that was asked; another one does not get it unasked."""
    monkeypatch.setattr("nodwyn_tui.agent.sight.is_loopback", lambda host: False)
    read = call("fs-read", {"path": "a.png"})
    with chat(read, say("Seen.")) as here, chat(say("there"), host="127.0.0.2") as there:
        rig.configure(here, there)
        shot(rig.workspace, "a.png")
        await rig.open()
        await rig.ask("look")
        assert len(carried(here)) == 1
        rig.tell(commands.SwitchModel(model="m2"))
        told = await rig.until(ImagesWithheld)
        assert [each.why for each in told.images] == ["other-host"]
        await rig.ask("and?")
        assert carried(there) == []
    assert there.violations == []
    assert [event.host for event in rig.of(ev.AttachConfirm)] == ["127.0.0.1"]


async def test_what_the_settings_say_of_sight_holds(rig: Rig, tmp_path: Path) -> None:
    """CFG: `images = false` in a model's entry outranks what a server says."""
    with chat(call("fs-read", {"path": "a.png"}), say("No.")) as server:
        rig.configure(server, images=False)
        shot(rig.workspace, "a.png")
        await rig.open()
        await rig.ask("look")
    assert rig.of(ev.ToolResult)[0].images == ()
    assert not rig.told(up.Failed)
