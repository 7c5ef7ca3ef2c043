"""Pictures in the terminal's pixels, drawn aside and without a question to it (IMG-2, PERF-1)."""

import importlib
import io
import os
import pty
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from PIL import Image

from nodwyn_tui.ui.widgets import graphics
from nodwyn_tui.ui.widgets.halves import halves
from tests.ui.scenes import PICTURE

CELL = (10, 20)
PROBE = """
import fcntl, struct, sys, termios
fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 800, 480))
from nodwyn_tui.ui.widgets import graphics
assert graphics.cell_size() == (10, 20)
for way in ("kitty", "sixel"):
    assert graphics.drawn(sys.argv[1], 20, 5, way).columns == 18
assert sys.stdin.readline() == "typed\\n"
sys.__stdout__.write("done")
"""


@pytest.fixture(autouse=True)
def _cell(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    if "terminal" not in request.function.__name__:
        monkeypatch.setattr(graphics, "cell_size", lambda: CELL)


def test_kittys_protocol_gets_pixels_a_place_and_cells_that_name_them() -> None:
    drawn = graphics.drawn(PICTURE, 20, 5, "kitty")
    assert drawn is not None
    assert (drawn.columns, len(drawn.rows)) == (18, 5)
    assert drawn.rows[0][0].text.count("\U0010eeee") == 18
    first, *_ = drawn.before.split("\x1b\\")
    assert first.startswith("\x1b_Gi=")
    assert "U=1" in drawn.before
    number = first.removeprefix("\x1b_Gi=").partition(",")[0]
    assert drawn.after == f"\x1b_Ga=d,d=I,i={number},q=2\x1b\\"


def test_sixels_lie_over_blank_cells() -> None:
    drawn = graphics.drawn(PICTURE, 20, 5, "sixel")
    assert drawn is not None
    assert drawn.over.startswith("\x1bP")
    assert drawn.over.endswith("\x1b\\")
    assert [row[0].text for row in drawn.rows] == [" " * 18] * 5
    assert (drawn.before, drawn.after) == ("", "")


@pytest.mark.parametrize("way", ["kitty", "sixel"])
def test_a_small_image_stays_small_and_a_thin_one_has_a_cell(tmp_path: Path, way: str) -> None:
    for size, cells in (((30, 20), (3, 1)), ((12_000, 3), (20, 1)), ((3, 12_000), (1, 5))):
        Image.new("L", size).save(tmp_path / "a.png")
        drawn = graphics.drawn(str(tmp_path / "a.png"), 20, 5, way)  # type: ignore[arg-type]
        assert drawn is not None
        assert (drawn.columns, len(drawn.rows)) == cells


def test_without_the_size_of_a_cell_no_sixels_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """They would cover what stands beside them."""
    monkeypatch.setattr(graphics, "cell_size", lambda: None)
    assert graphics.drawn(PICTURE, 20, 5, "sixel") is None
    assert graphics.drawn(PICTURE, 20, 5, "kitty") is not None


@pytest.mark.parametrize("data", [b"", b"no image", b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"])
def test_what_is_no_image_is_an_error(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a").write_bytes(data)
    with pytest.raises(OSError, match=r"."):
        graphics.drawn(str(tmp_path / "a"), 20, 5, "kitty")
    with pytest.raises(OSError, match=r"."):
        halves(str(tmp_path / "a"), 20, 5, (0, 0, 0))


def test_transparent_pixels_show_the_ground(tmp_path: Path) -> None:
    Image.new("RGBA", (4, 3), (255, 0, 0, 0)).save(tmp_path / "a.png")
    drawn = halves(str(tmp_path / "a.png"), 20, 5, (1, 2, 3))
    [[whole], [last]] = drawn.rows
    for segment in (whole, last):
        assert segment.text == "▀" * 4
        assert segment.style is not None
        assert segment.style.color is not None
        assert segment.style.color.triplet == (1, 2, 3)


def test_a_terminal_is_asked_nothing_and_no_key_is_lost() -> None:
    """PERF-1: textual-image would ask at its import, and eat what is typed meanwhile."""
    parent, child = pty.openpty()
    os.write(parent, b"typed\n")
    root = Path(graphics.__file__).parents[3]
    process = subprocess.Popen(
        [sys.executable, "-c", PROBE, PICTURE],
        stdin=child,
        stdout=child,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(root), "TERM": "xterm-kitty"},
    )
    os.close(child)
    seen = io.BytesIO()

    def read() -> None:
        while True:
            try:
                piece = os.read(parent, 4096)
            except OSError:
                return
            if not piece:
                return
            seen.write(piece)

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    _, errors = process.communicate(timeout=30)
    reader.join(5)
    os.close(parent)
    assert (process.returncode, errors) == (0, b"")
    assert seen.getvalue() == b"typed\r\ndone"


def test_the_real_output_is_back() -> None:
    before = sys.__stdout__
    graphics.drawn(PICTURE, 20, 5, "kitty")
    assert sys.__stdout__ is before
    assert importlib.import_module("textual_image.renderable").TGPImage
