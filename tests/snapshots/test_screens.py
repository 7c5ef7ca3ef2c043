"""Pictures of the screen in its usual situations, at two sizes (TUI-11). They show looks only; what
the parts do is tested in `tests/ui`.
"""

import asyncio
from collections.abc import Callable

import pytest
from textual.app import App
from textual.pilot import Pilot

from nodwyn_tui.link import commands, requests, setup
from nodwyn_tui.link import events as up
from tests.ui import scenes
from tests.ui.backend import Stage, press, settled

Compare = Callable[..., bool]
SIZES = pytest.mark.parametrize("size", [(80, 24), (120, 36)], ids=["80x24", "120x36"])
SCENES: dict[str, tuple[Callable[[], list[up.UpEvent]], tuple[str, ...]]] = {
    "no_model": (scenes.no_model, ()),
    "first_run": (scenes.first_run, ()),
    "first_run_key": (scenes.first_run, (*"hosted", "enter", *"mistral", "enter", *"secret")),
    "first_run_pull": (scenes.first_run, (*"downloads", "enter", *"qwen3:8b", "enter")),
    "conversation": (scenes.conversation, ()),
    "earlier_entries": (scenes.paged, ("ctrl+home",)),
    "approval": (scenes.approval, ()),
    "streaming": (scenes.streaming, ()),
    "unsaved": (scenes.unsaved, ()),
    "compaction": (scenes.compaction, ()),
    "compaction_edited": (scenes.compaction, ("e", *"And ")),
    "model_picker": (scenes.conversation, (*"/model", "enter")),
    "skills": (scenes.conversation, (*"/skills", "enter")),
    "commands": (scenes.conversation, ("slash",)),
    "help": (scenes.conversation, ("f1",)),
    "entry_menu": (scenes.conversation, ("tab", "up", "up", "delete")),
    "images": (scenes.images, ("home", "left")),
    "image_seen": (scenes.images, ("home", "left", "enter")),
    "rolled_over": (scenes.rolled, ()),
    "guidance": (scenes.rolled, ("tab", *["up"] * 6, "enter")),
    "window": (scenes.rolled, ("tab", *["up"] * 7, "enter")),
    "opened_call": (scenes.conversation, ("tab", "up", "enter")),
}


@pytest.fixture(autouse=True)
def _version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nodwyn_tui.ui.widgets.opening.__version__", "1.2.3")


def picture(
    snap_compare: Compare, scene: str, size: tuple[int, int], theme: str = "nodwyn-dark"
) -> bool:
    events, keys = SCENES[scene]
    stage = Stage(*events())
    stage.backend.answers[commands.ListModels] = lambda _: [scenes.MODELS]
    stage.backend.answers[commands.ListSkills] = lambda _: [scenes.SKILLS]
    stage.backend.answers[commands.FetchPage] = lambda asked: [  # what the gap says at rest
        up.PageLoaded(entries=(), before=asked.before, after=asked.after, more=True)
    ]
    stage.backend.answers[requests.ShowWindow] = lambda _: [scenes.WINDOW]
    stage.backend.answers[requests.FetchPieces] = scenes.pieces
    stage.backend.answers[setup.FindWays] = lambda _: [scenes.WAYS]
    stage.backend.answers[setup.PullModel] = lambda _: [scenes.PULLING]
    stage.backend.answers[commands.PriceEdit] = lambda _: [scenes.priced("00000009")]

    async def act(pilot: Pilot[object]) -> None:
        await settled(pilot, 0.12)
        pilot.app.theme = theme
        await press(pilot, *keys)
        await settled(pilot, 0.12)
        if scene == "approval":
            await asyncio.sleep(0.05)

    app: App[object] = stage.app
    return snap_compare(app, terminal_size=size, run_before=act)


@SIZES
@pytest.mark.parametrize("scene", SCENES)
def test_dark(snap_compare: Compare, scene: str, size: tuple[int, int]) -> None:
    assert picture(snap_compare, scene, size)


@SIZES
@pytest.mark.parametrize("scene", ["conversation", "approval", "rolled_over", "window"])
def test_light(snap_compare: Compare, scene: str, size: tuple[int, int]) -> None:
    assert picture(snap_compare, scene, size, "nodwyn-light")


@pytest.mark.parametrize(
    "scene",
    [
        "conversation",
        "approval",
        "no_model",
        "first_run",
        "first_run_key",
        "first_run_pull",
        "compaction",
        "entry_menu",
        "rolled_over",
        "window",
    ],
)
def test_the_smallest_usual_terminal(snap_compare: Compare, scene: str) -> None:
    assert picture(snap_compare, scene, (60, 16))
