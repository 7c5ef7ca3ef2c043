"""`fs-read` (AGT-6, ENG-17)."""

import hashlib
import json
from pathlib import Path

import pytest

from nodwyn_tui.errors import ToolError
from nodwyn_tui.window.cuts import Source, cut, fits
from nodwyn_tui.window.entries import size
from tests.tools.conftest import Desk


async def read(desk: Desk, **arguments: object) -> str:
    return (await desk.run("fs-read", **arguments)).text


async def test_a_whole_file_is_its_lines_with_numbers(desk: Desk) -> None:
    path = desk.put("a.py", "one\n\n\tthree\n")
    outcome = await desk.run("fs-read", path="a.py")
    assert outcome.text == "1\tone\n2\t\n3\t\tthree"
    assert outcome.lines == 3
    assert desk.ports.known[path] == hashlib.sha256(b"one\n\n\tthree\n").hexdigest()


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        (2, 3, "[lines 2-3 of 4]\n2\tb\n3\tc"),
        (3, None, "[lines 3-4 of 4]\n3\tc\n4\td"),
        (None, 1, "[lines 1-1 of 4]\n1\ta"),
        (2, 999, "[lines 2-4 of 4]\n2\tb\n3\tc\n4\td"),
        (1, None, "1\ta\n2\tb\n3\tc\n4\td"),
    ],
)
async def test_a_range(desk: Desk, start: int | None, end: int | None, expected: str) -> None:
    desk.put("a", "a\nb\nc\nd\n")
    assert await read(desk, path="a", start=start, end=end) == expected


async def test_a_range_that_cannot_be(desk: Desk) -> None:
    desk.put("a", "a\nb\n")
    with pytest.raises(ToolError, match="has 2 lines"):
        await read(desk, path="a", start=3)
    with pytest.raises(ToolError, match=r"end \(1\) is before start \(2\)"):
        await read(desk, path="a", start=2, end=1)


@pytest.mark.parametrize("line", ["x" * 30, '"\\\t', "日本語テキスト", "é\x1b[1m"])
async def test_a_ranged_read_stops_within_its_budget(desk: Desk, line: str) -> None:
    """ENG-17: the window, whose cap it is, never cuts it; the header says how to go on."""
    desk.ports.read_budget = 500
    desk.put("a", f"{line}\n" * 2000)
    text = await read(desk, path="a", start=1, end=2000)
    header = text.partition("\n")[0]
    last = text.count("\n")
    assert header == f"[lines 1-{last} of 2000; go on with start={last + 1}]"
    row = {"call_id": "c" * 40, "name": "fs-read", "role": "tool", "is_error": False}
    row["parts"] = [{"type": "text", "text": text}]
    tokens = size(json.dumps(row, ensure_ascii=False).encode())
    assert 350 < tokens <= 500
    assert fits(text, 500)
    again = await read(desk, path="a", start=last + 1)
    assert again.startswith(f"[lines {last + 1}-")


async def test_one_line_over_the_budget_is_cut(desk: Desk) -> None:
    desk.ports.read_budget = 300
    desk.put("a", "x" * 5000 + "\nend\n")
    text = await read(desk, path="a", start=1, end=2)
    assert text.startswith(
        "[lines 1-1 of 2; line 1 is too long to be shown whole; go on with start=2]"
    )
    assert len(text) < 900
    assert fits(text, 300)


async def test_what_the_window_cuts_of_a_whole_read_is_named_rightly(desk: Desk) -> None:
    """ENG-17: rows are the file's lines, so the marker's read brings back what was left out."""
    desk.put("a", "".join(f"line {number}\n" for number in range(1, 501)))
    shown = cut(await read(desk, path="a"), 400, Source(seq=1, read_path="a"))
    assert shown is not None
    marker = next(row for row in shown.split("\n") if row.startswith("[lines"))
    before = shown.split("\n")[shown.split("\n").index(marker) - 1]
    first = int(marker.split()[1].partition("-")[0])
    assert before.startswith(f"{first - 1}\t")
    assert "of 500 left out" in marker


async def test_a_huge_file_is_read_in_part(desk: Desk) -> None:
    """A file over 1 MiB comes as a range; any part of it can be read, and the lines are counted."""
    path = desk.root / "big.log"
    path.write_bytes(b"".join(b"row %d\n" % number for number in range(1, 400_001)))
    desk.ports.read_budget = 200
    text = await read(desk, path="big.log")
    assert text.startswith("[lines 1-")
    assert " of 400000; go on with start=" in text
    text = await read(desk, path="big.log", start=399_999)
    assert text == "[lines 399999-400000 of 400000]\n399999\trow 399999\n400000\trow 400000"


async def test_an_endless_line_takes_bounded_memory(desk: Desk) -> None:
    (desk.root / "a").write_bytes(b"x" * (3 * 1024 * 1024) + b"\nend")
    assert (await read(desk, path="a", start=2)).endswith("2\tend")
    assert len(await read(desk, path="a")) < 20_000


async def test_line_ends_are_said_plainly(desk: Desk) -> None:
    desk.put("dos", "a\r\nb\r\n")
    desk.put("mixed", "a\r\nb\nc\rd\n")
    assert await read(desk, path="dos") == "[lines 1-2 of 2; line ends are CRLF]\n1\ta\n2\tb"
    assert await read(desk, path="mixed") == (
        "[lines 1-3 of 3; line ends are CRLF on 1 lines]\n1\ta\n2\tb\n3\tc\\rd"
    )


async def test_a_file_without_a_final_line_end(desk: Desk) -> None:
    desk.put("a", "a\nb")
    assert (
        await read(desk, path="a")
        == "[lines 1-2 of 2; no line end after the last line]\n1\ta\n2\tb"
    )


async def test_c47_the_mark_is_not_shown(desk: Desk) -> None:
    """C47: the byte-order mark is hidden, letters with accents are as they are."""
    desk.case("C47_mod.py.txt", "mod.py")
    assert await read(desk, path="mod.py") == "1\timport os\n2\t# őű áé\n3\tprint(os.sep)"


async def test_c58_codes_in_a_file_are_shown_inert(desk: Desk) -> None:
    """C58, SEC-3: a file's own codes are spelled, none goes through."""
    desk.case("C58_bad.txt", "bad.txt")
    text = await read(desk, path="bad.txt")
    assert "before\\x1b[2J\\x1b[Hafter" in text
    assert "10%\\r50%\\r100%" in text
    assert not any(ord(char) < 0x20 and char not in "\n\t" for char in text)


async def test_c07_control_words_are_text(desk: Desk) -> None:
    """C07: such words pass as they stand."""
    desk.put("a", "<|im_start|>system <|endoftext|>\n")
    assert await read(desk, path="a") == "1\t<|im_start|>system <|endoftext|>"


async def test_c55_bytes_that_are_no_text(desk: Desk) -> None:
    """C55: what is read is text that can be sent."""
    desk.put("latin", b"caf\xe9\n")
    text = await read(desk, path="latin")
    assert text == "[lines 1-1 of 1; \ufffd stands for bytes that are no UTF-8]\n1\tcaf\ufffd"


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"\x89PNG\r\n\x1a\n1234", "a PNG image"),
        (b"\xff\xd8\xff\xe0", "a JPEG image"),
        (b"PK\x03\x04", "a zip archive"),
        (b"\x7fELF\x02", "an ELF program"),
        (b"a\0b", "binary data"),
        ("text".encode("utf-16"), "UTF-16 text"),
    ],
)
async def test_binary_data_is_named(desk: Desk, content: bytes, kind: str) -> None:
    """AGT-7: binary files are named as such."""
    desk.put("file", content)
    outcome = await desk.run("fs-read", path="file")
    assert f"file is {kind}" in outcome.text
    assert f"{len(content)} bytes" in outcome.text


async def test_an_empty_file_says_so(desk: Desk) -> None:
    desk.put("a", "")
    assert await read(desk, path="a") == "(a is empty)"


async def test_a_folder_points_to_the_right_tool(desk: Desk) -> None:
    desk.put("src/a", "")
    with pytest.raises(ToolError, match="src is a folder; see what is in it with fs-list"):
        await read(desk, path="src")


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        ("src/mian.py", "src/main.py"),
        ("SRC/main.py", "Did you mean src"),
        ("src/nothing-like-it", "has no such name"),
        ("sric/main.py", "src"),
    ],
)
async def test_a_missing_file_names_the_nearest(desk: Desk, asked: str, named: str) -> None:
    desk.put("src/main.py", "")
    with pytest.raises(ToolError, match="no such file") as caught:
        await read(desk, path=asked)
    assert named in str(caught.value)


async def test_a_name_as_listings_show_it(desk: Desk) -> None:
    """C78: a name with a byte that is no text can be given as it was shown."""
    (desk.root / "b\udcff d").write_text("x\n")
    assert await read(desk, path='"b\\xff d"') == "1\tx"


async def test_a_deleted_workspace_is_an_error(desk: Desk, tmp_path: Path) -> None:
    desk.root.rename(tmp_path / "gone")
    with pytest.raises(ToolError, match="no such file"):
        await read(desk, path="a/b")
