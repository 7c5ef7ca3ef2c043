"""`Attach` from a front to the store (IMG-1, IMG-3, IMG-4)."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from nodwyn_tui.link import events as up
from nodwyn_tui.link.images import AttachRefused, ImageAttached
from tests.agent.rig import Rig
from tests.agent.shots import answer, shot
from tests.fakes.chat_server import ChatServer
from tests.fakes.server import FakeServer

ROOT = Path(__file__).parents[2]
CASES = Path(__file__).parents[1] / "cases" / "files"


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with ChatServer() as server:
        yield server


async def refused(rig: Rig, text: str, *, sure: bool = False) -> str:
    """Why nothing was attached."""
    (told,) = await answer(rig, text, sure=sure)
    assert isinstance(told, AttachRefused)
    assert told.text == text
    return told.reason


async def test_dropped_files_become_images_in_the_store(
    rig: Rig, server: FakeServer, tmp_path: Path
) -> None:
    """IMG-1, IMG-4: several at once, in their order, each named and in its file."""
    rig.configure(server)
    await rig.open()
    paths = [shot(tmp_path, "my shot.png"), shot(tmp_path, "b.png", (10, 10))]
    text = "".join(f"'{path}' " for path in paths)
    told = await answer(rig, text)
    images = [each.image for each in told if isinstance(each, ImageAttached)]
    assert [image.name for image in images] == ["my shot.png", "b.png"]
    assert (images[0].width, images[0].height, images[0].tokens) == (1280, 720, 1105)
    assert (images[0].mime, images[0].note) == ("image/png", "")
    store = rig.workspace / ".nodwyn" / "attachments"
    assert sorted(each.name for each in store.iterdir()) == sorted(i.sha256 for i in images)
    assert Path(images[0].path).stat().st_size == images[0].size
    assert all(isinstance(each, ImageAttached) and each.text == text for each in told)


@pytest.mark.parametrize(
    "text",
    [
        "look at /etc/hostname",
        "/etc/hostname",
        "see {png} please",
        "{png} /etc/hostname",
        "a.png",
        "{folder}",
        "{svg}",
        "/dev/null",
        "{pipe}",
        "{png} {missing}",
    ],
)
async def test_all_else_stays_text(rig: Rig, server: FakeServer, tmp_path: Path, text: str) -> None:
    """IMG-1: only if every token is an existing image; C40: an SVG is offered as text."""
    rig.configure(server)
    await rig.open()
    names = {"png": shot(tmp_path, "a.png"), "missing": tmp_path / "none.png"}
    names |= {
        "svg": CASES / "C40_box.svg",
        "folder": tmp_path / "x.png",
        "pipe": tmp_path / "p.png",
    }
    names["folder"].mkdir()
    os.mkfifo(names["pipe"])
    assert await refused(rig, text.format(**names)) == ""


async def test_what_cannot_be_used_is_refused_by_name(
    rig: Rig, server: FakeServer, tmp_path: Path
) -> None:
    """C39, IMG-3: one bad file of several attaches none, and the error names it."""
    rig.configure(server)
    await rig.open()
    good, cut = shot(tmp_path, "good.png"), tmp_path / "cut.png"
    cut.write_bytes(good.read_bytes()[:200])
    assert "cut.png is damaged" in await refused(rig, f"{good} {cut}")
    assert "C39_fake.heic is a HEIC image" in await refused(rig, f"{CASES / 'C39_fake.heic'} ")


async def test_where_the_person_said_it_is_an_image(
    rig: Rig, server: FakeServer, tmp_path: Path
) -> None:
    """`/image`: relative to the workspace, and whatever is wrong is told."""
    rig.configure(server)
    await rig.open()
    shot(rig.workspace, "a b.png")
    (told,) = await answer(rig, "a b.png", sure=True)
    assert isinstance(told, ImageAttached)
    assert "there is no file none.png" in await refused(rig, "none.png", sure=True)
    (rig.workspace / "text.txt").write_text("hello")
    assert "text.txt is no image" in await refused(rig, "text.txt", sure=True)
    assert "is an SVG drawing" in await refused(rig, str(CASES / "C40_box.svg"), sure=True)
    assert "is a folder: name an image file in it" in await refused(rig, str(tmp_path), sure=True)


async def test_a_link_into_the_kernels_folders_is_not_followed(
    rig: Rig, server: FakeServer
) -> None:
    rig.configure(server)
    await rig.open()
    (rig.workspace / "x.png").symlink_to("/dev/zero")
    assert "there is no file" in await refused(rig, "x.png", sure=True)
    assert await refused(rig, str(rig.workspace / "x.png")) == ""


async def test_the_clipboard(
    rig: Rig, server: FakeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """IMG-1: an empty paste asks it without a word; Ctrl+V says what is missing."""
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.delenv("DISPLAY", raising=False)
    rig.configure(server)
    await rig.open()
    assert await refused(rig, "") == ""
    assert "no clipboard can be reached" in await refused(rig, "", sure=True)


async def test_the_clipboards_image(
    rig: Rig, server: FakeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """IMG-1: as it is, by the system's own program."""
    path = shot(tmp_path, "c.png", (30, 20))
    paste = tmp_path / "wl-paste"
    paste.write_text(f'#!/bin/sh\n[ "$1" = --list-types ] && echo image/png || cat "{path}"\n')
    paste.chmod(0o700)
    monkeypatch.setenv("WAYLAND_DISPLAY", "w")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    rig.configure(server)
    await rig.open()
    (told,) = await answer(rig, "")
    assert isinstance(told, ImageAttached)
    assert (told.image.name, told.image.width) == ("clipboard image", 30)


async def test_a_workspace_that_cannot_be_written(
    rig: Rig, server: FakeServer, tmp_path: Path
) -> None:
    """IMG-4: then images lie in the state folder, as sessions do (ENG-1)."""
    (rig.workspace / ".nodwyn").write_text("a file is in the way")
    rig.configure(server)
    await rig.open()
    (told,) = await answer(rig, str(shot(tmp_path, "a.png")))
    assert isinstance(told, ImageAttached)
    assert Path(told.image.path).parent.parent.name == "attachments"
    assert rig.home in Path(told.image.path).parents


async def test_a_disk_that_refuses_is_told(rig: Rig, server: FakeServer, tmp_path: Path) -> None:
    rig.configure(server)
    await rig.open()
    shutil.rmtree(rig.workspace / ".nodwyn" / "attachments", ignore_errors=True)
    (rig.workspace / ".nodwyn" / "attachments").write_text("in the way")
    assert "cannot" in await refused(rig, str(shot(tmp_path, "a.png")))


async def test_without_a_session_there_is_an_answer_too(rig: Rig) -> None:
    """The front holds what was pasted until it is answered."""
    await rig.open()
    assert await refused(rig, "some text") == ""
    assert "no model is chosen" in await refused(rig, "a.png", sure=True)
    assert not rig.told(up.Failed)


def test_pillow_waits_for_the_first_image() -> None:
    """PERF-1: a worker starts without it."""
    probe = "import sys, nodwyn_tui.wiring; sys.exit('PIL' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", probe], cwd=ROOT, check=False, timeout=60)
    assert done.returncode == 0
