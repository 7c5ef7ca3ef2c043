"""Images of sessions that are exported and removed (IMG-9)."""

import re
from pathlib import Path

import pytest
from PIL import Image

from tests.cli.test_run import configure, run
from tests.cli.test_sessions_command import sessions
from tests.fakes.chat_server import ChatServer
from tests.fakes.script import call, say


@pytest.fixture
def logs(tmp_path: Path, home: Path) -> list[Path]:
    """Two sessions: both name `a.png`, the first one `b.png` too, which its model read."""
    workspace = tmp_path / "ws"
    workspace.mkdir()
    Image.new("RGB", (20, 10), "red").save(workspace / "a.png")
    Image.new("RGB", (10, 20), "blue").save(workspace / "b.png")
    found: list[Path] = []
    with ChatServer([call("fs-read", {"path": "b.png"}), say("one"), say("two")]) as server:
        configure(home, server)
        for text in ("first", "second"):
            done = run(workspace, "-p", text, "--image", str(workspace / "a.png"))
            assert done.returncode == 0, done.stderr
            found += [log for log in workspace.rglob("log.jsonl") if log not in found]
    assert server.violations == []
    return found


def test_export_carries_images_or_leaves_them_out(logs: list[Path], tmp_path: Path) -> None:
    """IMG-9: as asked; in Markdown they are shown where they stand."""
    folder = tmp_path / "out"
    bare = sessions("export", str(logs[0])).stdout
    assert not folder.exists()
    assert "![" not in bare
    assert "10 · image/png" in bare
    told = sessions("export", str(logs[0]), "--images", str(folder)).stdout
    shown = re.findall(r"!\[(.*?)\]\(<(.*?)>\)", told)
    assert [name for name, _ in shown] == ["a.png", "image"]
    assert sorted(folder.iterdir()) == sorted(Path(path) for _, path in shown)
    sizes = [Image.open(path).size for _, path in shown]
    assert sizes == [(20, 10), (10, 20)]


def test_export_says_what_is_gone(logs: list[Path], tmp_path: Path) -> None:
    """IMG-9"""
    for path in (logs[0].parents[2] / "attachments").iterdir():
        path.unlink()
    done = sessions("export", str(logs[0]), "--images", str(tmp_path / "out"))
    assert done.returncode == 0
    assert "2 images are not in the store any more" in done.stderr


def test_removal_leaves_what_another_session_names(logs: list[Path]) -> None:
    """IMG-9"""
    store = logs[0].parents[2] / "attachments"
    assert len(list(store.iterdir())) == 2
    assert sessions("delete", "--yes", str(logs[0])).returncode == 0
    (left,) = store.iterdir()
    assert Image.open(left).size == (20, 10)
    assert sessions("delete", "--yes", str(logs[1])).returncode == 0
    assert list(store.iterdir()) == []
