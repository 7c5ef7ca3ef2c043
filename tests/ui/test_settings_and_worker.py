"""The settings screen over a real worker and a real file (TUI-5)."""

import asyncio
import tomllib
from pathlib import Path

from nodwyn_tui.link import commands
from nodwyn_tui.link.local import LocalLink
from nodwyn_tui.system.clock import SystemClock
from nodwyn_tui.ui.app import NodwynApp
from nodwyn_tui.ui.bridge import Bridge
from nodwyn_tui.ui.screens.conversation import Conversation
from nodwyn_tui.wiring import work
from tests.ui.backend import press, settled

FILE = """\
model = "here"          # leads

[servers.lan]           # in the cellar
provider = "openai"
base_url = "http://127.0.0.1:9/v1"

[models.here]
server = "lan"
model = "some-model"
effort = "low"          # careful
"""


async def test_a_value_is_changed_and_saved(home: Path, tmp_path: Path) -> None:
    file = home / "config.toml"
    file.write_text(FILE)
    link = LocalLink()
    worker = asyncio.create_task(work(link))
    opening = commands.Open(workspace=str(tmp_path))
    link.send(opening)
    clock = SystemClock()
    app = NodwynApp(Bridge(link, opening, clock, None), clock)
    async with app.run_test(size=(100, 40)) as pilot:
        async with asyncio.timeout(20):
            while not isinstance(app.screen, Conversation):
                await settled(pilot)
            screen = app.screen
            await press(pilot, "ctrl+s")
            while screen.settings is None or screen.settings.picture is None:
                await settled(pilot)
            settings = screen.settings
            settings.to_row(("models", "here", "effort"))
            settings.change({("models", "here", "effort"): "high"})
            await press(pilot, "s")
            while 'effort = "high"' not in file.read_text():
                await settled(pilot)
            while settings.changes.values:
                await settled(pilot)
        await press(pilot, "escape")
    link.end()
    worker.cancel()
    await asyncio.wait([worker])
    assert tomllib.loads(file.read_text())["models"]["here"]["effort"] == "high"
    assert "# careful" in file.read_text()


async def test_a_changed_key_counts_once_it_is_saved(home: Path, tmp_path: Path) -> None:
    """TUI-11: in the conversation, in the settings themselves, and in what both show."""
    (home / "config.toml").write_text(FILE)
    link = LocalLink()
    worker = asyncio.create_task(work(link))
    opening = commands.Open(workspace=str(tmp_path))
    link.send(opening)
    clock = SystemClock()
    app = NodwynApp(Bridge(link, opening, clock, None), clock)
    async with app.run_test(size=(120, 40)) as pilot:
        async with asyncio.timeout(20):
            while app.conversation.header.opened is None:
                await settled(pilot)
            await press(pilot, *"/keys", "enter")
            screen = app.conversation
            while screen.settings is None or screen.settings.picture is None:
                await settled(pilot)
            settings = screen.settings
            assert settings.page == ("keys", "")
            settings.to_row(("keys", "settings"))
            assert settings.row is not None
            assert settings.row.default == "ctrl+s"
            settings.change({("keys", "settings"): "ctrl+g", ("keys", "settings_help"): "f5"})
            await press(pilot, "s")
            while settings.changes.values or "settings" not in dict(app._keymap):
                await settled(pilot)
            assert ("F5", "help") in settings.hints()
            await press(pilot, "escape")
            await settled(pilot)
            assert app.screen is screen
            assert ("^G", "settings") in screen.hints()
            await press(pilot, "ctrl+s")
            await settled(pilot)
            assert app.screen is screen
            await press(pilot, "ctrl+g")
            while app.screen is screen:
                await settled(pilot)
            await press(pilot, "escape")
    link.end()
    worker.cancel()
    await asyncio.wait([worker])
    values = tomllib.loads((home / "config.toml").read_text())
    assert values["keys"] == {"settings": "ctrl+g", "settings_help": "f5"}
