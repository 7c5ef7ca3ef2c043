"""The image on the clipboard, asked of the system's own programs (IMG-1)."""

import os
from pathlib import Path

import pytest

from nodwyn_tui.errors import UsageError
from nodwyn_tui.system import clipboard
from nodwyn_tui.system.clipboard import clipboard_image

PNG = b"\x89PNG\r\n\x1a\n\0binary\xff"


def program(folder: Path, name: str, script: str) -> None:
    """A program of that name, first on the path."""
    (folder / "out.png").write_bytes(PNG)
    path = folder / name
    path.write_text(f"#!/bin/sh\ncd {folder}\n{script}\n")
    path.chmod(0o700)


def environment(folder: Path, **more: str) -> dict[str, str]:
    return {"PATH": f"{folder}:/usr/bin:/bin", **more}


WL_PASTE = """
case "$*" in
  --list-types) printf 'text/html\\nimage/png\\n' ;;
  "--no-newline --type image/png") cat out.png ;;
  *) exit 9 ;;
esac"""
XCLIP = """
case "$*" in
  "-selection clipboard -t TARGETS -o") printf 'TARGETS\\nimage/png\\n' ;;
  "-selection clipboard -o -t image/png") cat out.png ;;
  *) exit 9 ;;
esac"""


async def test_wayland(tmp_path: Path) -> None:
    program(tmp_path, "wl-paste", WL_PASTE)
    data = await clipboard_image(environment(tmp_path, WAYLAND_DISPLAY="w", DISPLAY=":0"), "linux")
    assert data == PNG


async def test_x11(tmp_path: Path) -> None:
    program(tmp_path, "xclip", XCLIP)
    assert await clipboard_image(environment(tmp_path, DISPLAY=":0"), "linux") == PNG


async def test_macos(tmp_path: Path) -> None:
    """pngpaste where it is installed, else what the system itself has."""
    program(tmp_path, "osascript", f"echo '«data PNGf{PNG.hex().upper()}»'")
    assert await clipboard_image(environment(tmp_path), "darwin") == PNG
    program(tmp_path, "pngpaste", "cat out.png")
    assert await clipboard_image(environment(tmp_path), "darwin") == PNG


@pytest.mark.parametrize(
    ("variables", "platform", "words"),
    [
        ({"WAYLAND_DISPLAY": "w"}, "linux", "program wl-paste, which is missing.*wl-clipboard"),
        ({"DISPLAY": ":0"}, "linux", "program xclip, which is missing"),
        ({}, "linux", "no clipboard can be reached"),
        ({}, "darwin", "pngpaste or osascript, and both are missing"),
    ],
)
async def test_which_program_is_missing_is_said(
    tmp_path: Path, variables: dict[str, str], platform: str, words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        await clipboard_image({"PATH": str(tmp_path), **variables}, platform)


@pytest.mark.parametrize("script", ["exit 1", "printf text/plain", "true"])
async def test_no_image_there(tmp_path: Path, script: str) -> None:
    program(tmp_path, "wl-paste", script)
    with pytest.raises(UsageError, match="no image on the clipboard"):
        await clipboard_image(environment(tmp_path, WAYLAND_DISPLAY="w"), "linux")


async def test_a_program_that_never_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is ended, and so is what it started."""
    monkeypatch.setattr(clipboard, "PATIENCE_S", 0.3)
    program(tmp_path, "wl-paste", "sleep 60 & echo $! > pid; wait")
    with pytest.raises(UsageError, match="wl-paste did not answer"):
        await clipboard_image(environment(tmp_path, WAYLAND_DISPLAY="w"), "linux")
    pid = int((tmp_path / "pid").read_text())
    status = Path(f"/proc/{pid}/stat")
    assert not status.exists() or status.read_text().split()[2] == "Z"
    assert os.getpid() != pid
