"""Pictures of the settings at their usual sizes, in dark and light (TUI-5, TUI-11)."""

import asyncio
from collections.abc import Callable

import pytest
from textual.app import App
from textual.pilot import Pilot

from nodwyn_tui.link import settings as sets
from nodwyn_tui.ui.screens.settings_editing import REST_S
from tests.ui import scenes
from tests.ui.backend import Stage, press, settled
from tests.ui.settings_scene import File

Compare = Callable[..., bool]
SCENES: dict[str, tuple[str, ...]] = {
    "page": (),
    "typing": ("tab", *["down"] * 4, "enter", *"x9"),
    "changed": ("tab", *["down"] * 5, "right", "down", "right"),
    "looked_for": ("slash", *"price", "enter"),
    "strategy": ("slash", *"window", "enter", "right"),
    "adding": ("a",),
    "test": ("t",),
    "leaving": ("down", "f", "escape"),
}


def picture(
    snap_compare: Compare, scene: str, size: tuple[int, int], theme: str = "nodwyn-dark"
) -> bool:
    stage = Stage(*scenes.conversation())
    file = File(stage)
    file.values["ui", "theme"] = theme
    stage.backend.answers[sets.TestModel] = lambda _: [
        sets.TrialPriced(model="local", prompt_tokens=12_300, cost_usd=0.0312)
    ]

    async def act(pilot: Pilot[object]) -> None:
        await settled(pilot)
        await press(pilot, "ctrl+s")
        while stage.screen.settings is None or stage.screen.settings.picture is None:
            await settled(pilot)
        for keys in (SCENES[scene][:1], SCENES[scene][1:]):
            await press(pilot, *keys)
            await settled(pilot)  # narrow screens lay the rows out only now
        await asyncio.sleep(REST_S)
        await settled(pilot, 0.12)

    app: App[object] = stage.app
    return snap_compare(app, terminal_size=size, run_before=act)


@pytest.mark.parametrize("size", [(80, 24), (120, 36)], ids=["80x24", "120x36"])
@pytest.mark.parametrize("scene", SCENES)
def test_dark(snap_compare: Compare, scene: str, size: tuple[int, int]) -> None:
    assert picture(snap_compare, scene, size)


@pytest.mark.parametrize("size", [(80, 24), (120, 36)], ids=["80x24", "120x36"])
def test_light(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert picture(snap_compare, "changed", size, "nodwyn-light")


@pytest.mark.parametrize("theme", ["nodwyn-dark", "nodwyn-light"])
def test_large(snap_compare: Compare, theme: str) -> None:
    assert picture(snap_compare, "changed", (200, 60), theme)


@pytest.mark.parametrize("scene", ["page", "changed"])
def test_the_smallest_usual_terminal(snap_compare: Compare, scene: str) -> None:
    assert picture(snap_compare, scene, (60, 16))
