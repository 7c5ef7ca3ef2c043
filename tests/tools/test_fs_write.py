"""`fs-write` (AGT-6, AGT-9, ENG-6)."""

import stat
from pathlib import Path

import pytest

from nodwyn_tui.errors import ToolError
from tests.tools.conftest import Desk


async def test_a_new_file_with_its_folders(desk: Desk) -> None:
    ask = await desk.ask("fs-write", path="src/new/a.py", text="one\ntwo\n")
    assert (ask.title, ask.subject, ask.touches) == (
        "Write src/new/a.py",
        "src/new/a.py",
        ("src/new/a.py",),
    )
    assert ask.diff == "--- src/new/a.py\n+++ src/new/a.py\n@@ -0,0 +1,2 @@\n+one\n+two"
    assert not (desk.root / "src").exists()
    outcome = await desk.run("fs-write", path="src/new/a.py", text="one\ntwo\n")
    assert outcome.text == "wrote src/new/a.py (+2 -0 lines)"
    assert outcome.changed == ("src/new/a.py",)
    assert outcome.diff == ask.diff
    assert (desk.root / "src/new/a.py").read_bytes() == b"one\ntwo\n"


async def test_what_was_written_can_be_written_again(desk: Desk) -> None:
    await desk.run("fs-write", path="a", text="1\n")
    outcome = await desk.run("fs-write", path="a", text="2\n")
    assert outcome.text == "wrote a (+1 -1 lines)"


async def test_a_file_that_was_not_read_is_not_overwritten(desk: Desk) -> None:
    path = desk.put("a", "keep\n")
    for call in (desk.ask, desk.run):
        with pytest.raises(ToolError, match="you have not read it"):
            await call("fs-write", path="a", text="new\n")
    assert path.read_text() == "keep\n"


async def test_a_file_changed_since_it_was_read_is_not_overwritten(desk: Desk) -> None:
    path = desk.put("a", "old\n")
    await desk.run("fs-read", path="a")
    path.write_text("theirs\n")
    for call in (desk.ask, desk.run):
        with pytest.raises(ToolError, match="was changed since you read it"):
            await call("fs-write", path="a", text="new\n")
    assert path.read_text() == "theirs\n"
    await desk.run("fs-read", path="a")
    await desk.run("fs-write", path="a", text="new\n")
    assert path.read_text() == "new\n"


async def test_mode_is_kept(desk: Desk) -> None:
    path = desk.put("run.sh", "#!/bin/sh\n")
    path.chmod(0o750)
    await desk.run("fs-read", path="run.sh")
    await desk.run("fs-write", path="run.sh", text="#!/bin/sh\nexit 1\n")
    assert stat.S_IMODE(path.stat().st_mode) == 0o750


async def test_c47_mark_and_accents_are_kept(desk: Desk) -> None:
    """C47: overwritten as a whole, the file keeps its mark, once, and its letters."""
    path = desk.case("C47_mod.py.txt", "mod.py")
    await desk.run("fs-read", path="mod.py")
    for text in ("import sys\n# őű áé\n", "\ufeffimport re\n# őű áé\n"):
        await desk.run("fs-write", path="mod.py", text=text)
        assert path.read_bytes() == b"\xef\xbb\xbf" + text.removeprefix("\ufeff").encode()


@pytest.mark.parametrize(
    ("before", "text", "after"),
    [
        (b"a\r\nb\r\n", "x\ny\n", b"x\r\ny\r\n"),
        (b"a\r\nb\r\n", "x\r\ny\n", b"x\r\ny\r\n"),
        (b"a\nb\n", "x\r\ny\r\n", b"x\ny\n"),
        (b"a\r\nb\nc\r\n", "x\ny\n", b"x\r\ny\r\n"),
        (b"no end", "x\ny", b"x\ny"),
    ],
)
async def test_c46_line_ends_keep_their_form(
    desk: Desk, before: bytes, text: str, after: bytes
) -> None:
    """C46: a file that is overwritten keeps the form of its line ends."""
    path = desk.put("a", before)
    await desk.run("fs-read", path="a")
    await desk.run("fs-write", path="a", text=text)
    assert path.read_bytes() == after


async def test_the_same_text_changes_nothing(desk: Desk) -> None:
    path = desk.put("a", b"x\r\n")
    await desk.run("fs-read", path="a")
    before = path.stat().st_ino
    outcome = await desk.run("fs-write", path="a", text="x\n")
    assert outcome.text == "a holds exactly that already; nothing changed"
    assert outcome.changed == ()
    assert path.stat().st_ino == before


async def test_c55_half_a_pair_is_replaced_and_said(desk: Desk) -> None:
    """C55: an argument with half a surrogate pair is written as text, and the model is told."""
    outcome = await desk.run("fs-write", path="a", text="oops \ud83d\n")
    assert (desk.root / "a").read_text() == "oops \ufffd\n"
    assert "characters that no text file can hold were replaced" in outcome.text


async def test_a_folder_or_binary_data_is_not_overwritten(desk: Desk) -> None:
    desk.put("d/x", "")
    desk.put("b", b"\0")
    with pytest.raises(ToolError, match="is a folder"):
        await desk.run("fs-write", path="d", text="x")
    with pytest.raises(ToolError, match="is binary data, not text"):
        await desk.run("fs-write", path="b", text="x")
    with pytest.raises(ToolError):
        await desk.run("fs-write", path="d/x/y", text="x")


async def test_a_marker_from_a_result_is_not_written(desk: Desk) -> None:
    """ENG-6: a secret never gives way to its marker; a marker that the file itself has is text."""
    path = desk.put("conf", "key = planted\n")
    desk.put("doc", "shown as [redacted:aws]\n")
    await desk.run("fs-read", path="conf")
    await desk.run("fs-read", path="doc")
    text = "key = [redacted:aws]\nmore = 1\n"
    desk.ports.shown_markers = True
    for call in (desk.ask, desk.run):
        with pytest.raises(ToolError, match=r"\[redacted:aws\].*fs-edit"):
            await call("fs-write", path="conf", text=text)
    assert path.read_text() == "key = planted\n"
    await desk.run("fs-write", path="doc", text="still [redacted:aws]\n")
    desk.ports.shown_markers = False
    await desk.run("fs-write", path="new", text=text)


async def test_an_ask_about_a_guarded_file_tells_the_model_nothing(
    desk: Desk, tmp_path: Path
) -> None:
    """C76: whether a file outside is there is told to nobody but the person."""
    (tmp_path / "out.txt").write_text("theirs\n")
    ask = await desk.ask("fs-write", path="../out.txt", text="mine\n")
    assert ask.outside
    assert "+mine" in ask.diff
    ask = await desk.ask("fs-edit", path="../nothing.txt", old="a", new="b")
    assert (ask.outside, ask.diff) == (True, "")


async def test_a_disk_that_refuses(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_args: object, **_kwargs: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.write", full)
    with pytest.raises(ToolError, match=r"a was not written: .*No space left"):
        await desk.run("fs-write", path="a", text="x")
    assert not (desk.root / "a").exists()
    assert list(desk.root.iterdir()) == []
