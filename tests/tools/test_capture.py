"""A command's output in bounded memory (AGT-7, C52)."""

import tracemalloc
from pathlib import Path

import pytest

from nodwyn_tui.tools import capture as module
from nodwyn_tui.tools.capture import Capture


def taken(*pieces: bytes, artifact: Path | None = None) -> Capture:
    """A capture as the shell fills it."""
    capture = Capture()
    for piece in pieces:
        capture.feed(piece)
        if capture.overflows and artifact:
            capture.spill(artifact.name, artifact)
        elif capture.overflows:
            capture.shrink()
    capture.finish()
    return capture


@pytest.mark.parametrize(
    ("pieces", "text", "lines"),
    [
        ([], "(no output)", 0),
        ([b"\n\n"], "(no output)", 2),
        ([b"a\nb\n"], "a\nb", 2),
        ([b"a\nb"], "a\nb", 2),
        ([b"a\n", b"", b"b"], "a\nb", 2),
        ([b"10%\r", b"20%\r", b"done\n"], "done", 1),
    ],
)
def test_a_small_output_is_whole(pieces: list[bytes], text: str, lines: int) -> None:
    capture = taken(*pieces)
    assert capture.text() == text
    assert (capture.lines, capture.artifact) == (lines, None)
    assert capture.size == sum(map(len, pieces))


def test_a_large_output_has_head_tail_and_total(tmp_path: Path) -> None:
    rows = [b"row %d\n" % number for number in range(1, 300_001)]
    capture = taken(*(b"".join(rows[at : at + 1000]) for at in range(0, 300_000, 1000)),
                    artifact=tmp_path / "shell.txt")  # fmt: skip
    text = capture.text()
    assert text.startswith("row 1\nrow 2\n")
    assert text.endswith("\nrow 299999\nrow 300000")
    assert len(text) < 70_000
    size = sum(map(len, rows))
    assert f"in all 300,000 lines, {size:,} bytes, all kept for the person as shell.txt" in text
    assert (tmp_path / "shell.txt").read_bytes() == b"".join(rows)
    assert capture.lines == 300_000
    for row in text.split("\n"):
        assert row.startswith(("row ", "["))


def test_an_output_without_line_ends(tmp_path: Path) -> None:
    capture = taken(*[b"x" * 100_000] * 30, artifact=tmp_path / "a")
    text = capture.text()
    assert text.startswith("x" * module.HEAD + "\n[")
    assert text.endswith("]\n" + "x" * module.TAIL)
    assert (tmp_path / "a").stat().st_size == 3_000_000


def test_without_an_artifact_the_rest_is_said_to_be_gone() -> None:
    capture = Capture()
    capture.trouble = "the disk is full"
    for _ in range(20):
        capture.feed(b"y\n" * 50_000)
        if capture.overflows:
            capture.shrink()
    capture.finish()
    assert "not kept elsewhere: the disk is full" in capture.text()
    assert capture.artifact is None


def test_an_artifact_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LARGEST_ARTIFACT", 2 * 1024 * 1024)
    capture = taken(*[b"0123456789abcde\n" * 10_000] * 20, artifact=tmp_path / "a")
    assert (tmp_path / "a").stat().st_size == 2 * 1024 * 1024
    assert "the first 2 MiB kept for the person as a" in capture.text()
    assert "in all 200,000 lines, 3,200,000 bytes" in capture.text()


@pytest.mark.parametrize("fails", ["open", "write"])
def test_a_disk_that_refuses_the_artifact_loses_no_answer(
    tmp_path: Path, fails: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "none" / "a" if fails == "open" else Path("/dev/full")
    if fails == "write" and not target.exists():
        pytest.skip("needs /dev/full")
    capture = taken(*[b"z\n" * 100_000] * 10, artifact=target)
    assert capture.artifact is None
    assert "not kept elsewhere: " in capture.text()
    assert capture.text().endswith("z\nz")


def test_c52_memory_is_bounded(tmp_path: Path) -> None:
    """C52: of megabytes of noise head and tail are left; they take little memory on the way."""
    piece = bytes(range(256)) * 1024
    capture = Capture()
    tracemalloc.start()
    for _ in range(12):
        capture.feed(piece)
        if capture.overflows:
            capture.spill("a", tmp_path / "a")
    capture.finish()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 * 1024 * 1024
    assert len(capture.text().encode()) < 300_000
    assert capture.size == 12 * len(piece)


def test_the_last_line_is_seen_while_it_comes() -> None:
    capture = Capture()
    assert capture.last_line == ""
    capture.feed(b"one\ntwo\n")
    assert capture.last_line == "two"
    capture.feed(b"10%\r20%")
    assert capture.last_line == "20%"
    capture.feed(b"\n\n")
    assert capture.last_line == "20%"
