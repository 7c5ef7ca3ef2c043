"""`fs-edit` (AGT-6, ENG-6, C46 to C49)."""

import stat
import subprocess
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nodwyn_tui.errors import ToolError
from nodwyn_tui.tools.replacing import apart, exact, forgiving, replaced
from tests.tools.conftest import CASES, Desk


async def edit(desk: Desk, path: str, old: str, new: str, **more: Any) -> bytes:
    """The file after an edit."""
    await desk.run("fs-edit", path=path, old=old, new=new, **more)
    return (desk.root / path).read_bytes()


@pytest.mark.parametrize(
    ("case", "after"),
    [
        ("C46_all_crlf.txt", b"one\r\nalpha\r\nBETA\r\ngamma\r\nfour\r\n"),
        ("C46_mixed.txt", b"one\nalpha\r\nBETA\r\ngamma\r\nfour\nfive\r\n"),
        ("C46_lone_cr.txt", b"one\rstill one\r\nalpha\r\nBETA\r\ngamma\r\n"),
    ],
)
@pytest.mark.parametrize("end", ["", "\n"])
async def test_c46_line_ends_of_the_place(desk: Desk, case: str, after: bytes, end: str) -> None:
    """C46: found whatever the line ends; bytes not touched stay; git sees 2 lines more, 1 less."""
    path = desk.case(case, "a.txt")
    git = ["git", "-c", "core.autocrlf=false", "-c", "user.name=x", "-c", "user.email=x@x"]
    for command in (["init", "-q"], ["add", "a.txt"], ["commit", "-qm", "x"]):
        subprocess.run([*git, *command], cwd=desk.root, check=True)
    ask = await desk.ask(
        "fs-edit", path="a.txt", old=f"alpha\nbeta{end}", new=f"alpha\nBETA\ngamma{end}"
    )
    outcome = await desk.run(
        "fs-edit", path="a.txt", old=f"alpha\nbeta{end}", new=f"alpha\nBETA\ngamma{end}"
    )
    assert path.read_bytes() == after
    assert outcome.text.endswith("of a.txt (+2 -1 lines)")
    changed = [row for row in ask.diff.split("\n")[2:] if row[0] in "+-"]
    assert [row.replace("\\r", "") for row in changed] == ["-beta", "+BETA", "+gamma"]
    stat_line = subprocess.run(
        [*git, "diff", "--numstat"], cwd=desk.root, check=True, capture_output=True, text=True
    )
    assert stat_line.stdout.split() == ["2", "1", "a.txt"]


async def test_c47_the_mark_stays(desk: Desk) -> None:
    """C47: line 1 is found behind the mark; mark and accents stay, the mark is never doubled."""
    desk.case("C47_mod.py.txt", "mod.py")
    mark = b"\xef\xbb\xbf"
    assert await edit(desk, "mod.py", "import os\n", "import sys\n") == (
        mark + "import sys\n# őű áé\nprint(os.sep)\n".encode()
    )
    assert await edit(desk, "mod.py", "print(os.sep)", "print(1)") == (
        mark + "import sys\n# őű áé\nprint(1)\n".encode()
    )
    assert await edit(desk, "mod.py", "\ufeffimport sys", "\ufeffimport re") == (
        mark + "import re\n# őű áé\nprint(1)\n".encode()
    )


async def test_c48_more_than_one_place(desk: Desk) -> None:
    """C48: no change, the count and the lines; with `all` both, and the count."""
    path = desk.case("C48_conf.py.txt", "conf.py")
    before = path.read_bytes()
    for call in (desk.ask, desk.run):
        with pytest.raises(
            ToolError, match=r"2 times, in lines 3 and 7|2 times, in lines 3, 7"
        ) as caught:
            await call("fs-edit", path="conf.py", old="timeout = 30", new="timeout = 5")
    assert "more of the lines around" in str(caught.value)
    assert path.read_bytes() == before
    outcome = await desk.run(
        "fs-edit", path="conf.py", old="timeout = 30", new="timeout = 5", all=True
    )
    assert outcome.text == "edited 2 places of conf.py (+2 -2 lines)"
    assert path.read_bytes() == before.replace(b"= 30", b"= 5")


async def test_c49_a_loose_match_is_shown_and_not_used(desk: Desk) -> None:
    """C49: three lines of which the middle one is wrong change nothing."""
    path = desk.case("C49_doc.txt", "doc.txt")
    before = path.read_bytes()
    old = (CASES / "C49_search.txt").read_text()
    for every in (False, True):
        with pytest.raises(
            ToolError, match="does not stand in the file; nothing was changed"
        ) as caught:
            await desk.run("fs-edit", path="doc.txt", old=old, new="x\n", all=every)
    assert path.read_bytes() == before
    assert "nearest are lines" in str(caught.value)
    assert "alike" in str(caught.value)


async def test_a_miss_names_the_first_difference(desk: Desk) -> None:
    desk.put("a.py", "import os\n\ndef one():\n    return 1\n\ndef two():\n    return 2\n")
    with pytest.raises(ToolError) as caught:
        await desk.run("fs-edit", path="a.py", old="def two():\n    return 3\n", new="x")
    assert "nearest are lines 6-7, 1 of 2 lines alike, the first difference in line 7" in str(
        caught.value
    )
    assert "6\tdef two():\n7\t    return 2" in str(caught.value)
    with pytest.raises(ToolError, match="lines 3-3"):
        await desk.run("fs-edit", path="a.py", old="def onne():", new="x")
    with pytest.raises(ToolError, match="Read the file again"):
        await desk.run("fs-edit", path="a.py", old="§§§§", new="x")


async def test_a_miss_in_many_lines_is_bounded(desk: Desk) -> None:
    desk.put("a", "".join(f"row {number}\n" for number in range(100_000)))
    old = "".join(f"row {number}\n" for number in range(500, 600)).replace("row 550", "ROW")
    with pytest.raises(ToolError) as caught:
        await desk.run("fs-edit", path="a", old=old, new="x")
    assert "nearest are lines 501-600, 99 of 100 lines alike" in str(caught.value)
    assert len(str(caught.value)) < 2000


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        ("a  \nb\t\nc\n", "a\nb\n", "A\nB\n", "A\nB\nc\n"),
        ("a\nb\nc\n", "a \nb  ", "A\nB", "A\nB\nc\n"),
        ("x:\n    a\n    b\n", "a\nb\n", "a\n\n  B\n", "x:\n    a\n\n      B\n"),
        ("a\n  b\n", "    a\n      b\n", "    A\n      B\n", "A\n  B\n"),
        ("\tif x:\n\t\ty\n", "if x:\n\ty", "if z:\n\ty", "\tif z:\n\t\ty\n"),
        ("    a  \r\n    b\r\n", "a\nb", "A\nb", "    A\r\n    b\r\n"),
    ],
)
async def test_blanks_may_differ_and_nothing_else(
    desk: Desk, before: str, old: str, new: str, after: str
) -> None:
    """C49: blanks at line ends, or one indentation of all lines; the result says so."""
    path = desk.put("a", before)
    outcome = await desk.run("fs-edit", path="a", old=old, new=new)
    assert path.read_bytes().decode() == after
    assert "; old matched but for" in outcome.text


@pytest.mark.parametrize(
    ("before", "old", "new"),
    [
        ("  a\n    b\n", "a\nb\n", "x"),  # the indentations shift unevenly
        ("a\n\nb\n", "a\nb\n", "x"),  # a line between
        ("a b\n", "a  b\n", "x"),  # blanks within
        ("ab \nab\t\n", "ab  \n", "x"),  # two places
        ("a\n", "  \n", "x"),  # nothing but blanks
        ("a\n  b\n", "    a\n      b\n", "A\n"),  # new has not what would be taken off
        ("\ta\n  b\n", " a\n b\n", "x"),
    ],
)
async def test_what_is_not_forgiven(desk: Desk, before: str, old: str, new: str) -> None:
    path = desk.put("a", before)
    with pytest.raises(ToolError):
        await desk.run("fs-edit", path="a", old=old, new=new)
    assert path.read_text() == before


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        (b"a\nb", b"b", b"c", b"a\nc"),
        (b"a\nb\n", b"b\n", b"", b"a\n"),
        (b"a\r\nb", b"b", b"b\nc", b"a\r\nb\r\nc"),
        (b"a", b"a", b"a\nb", b"a\nb"),
        (b"\xff\xfe x\n", b"x", b"y", b"\xff\xfe y\n"),
        (b"a\r\nb\nc\r\nd", b"a\nb\nc\n", b"a\nX\nb\nc\n", b"a\r\nX\r\nb\nc\r\nd"),
        (b"x\r\n", b"\n", b"\n\n", b"x\r\n\r\n"),
        (b"x\ry\r\n", b"x\ry", b"z", b"z\r\n"),
        ("naïve ☃ 日本\n".encode(), "☃".encode(), "雪".encode(), "naïve 雪 日本\n".encode()),
    ],
)
async def test_untouched_bytes_stay(
    desk: Desk, before: bytes, old: bytes, new: bytes, after: bytes
) -> None:
    """C46: the final line end, lone carriage returns and bytes that are no text among them."""
    if before.startswith(b"\xff\xfe"):
        before = b" " + before  # else it would be taken for UTF-16
        after = b" " + after
    desk.put("a", before)
    assert await edit(desk, "a", old.decode(), new.decode()) == after


async def test_mode_is_kept(desk: Desk) -> None:
    path = desk.put("a", "x\n")
    path.chmod(0o755)
    await edit(desk, "a", "x", "y")
    assert stat.S_IMODE(path.stat().st_mode) == 0o755


async def test_a_file_changed_since_it_was_read_is_refused(desk: Desk) -> None:
    """AGT-6: but after the model's own edit the next one goes on."""
    path = desk.put("a", "one\ntwo\n")
    await desk.run("fs-read", path="a")
    await edit(desk, "a", "one", "1")
    await edit(desk, "a", "two", "2")
    path.write_text("1\n2\n3\n")
    for call in (desk.ask, desk.run):
        with pytest.raises(ToolError, match="was changed since you read it"):
            await call("fs-edit", path="a", old="1", new="one")
    assert path.read_text() == "1\n2\n3\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"old": "", "new": "x"}, "old is empty"),
        ({"old": "x", "new": "x"}, "the same"),
        ({"path": "none", "old": "x", "new": "y"}, "fs-write makes one"),
        ({"path": "bin", "old": "x", "new": "y"}, "binary data"),
        ({"path": "d", "old": "x", "new": "y"}, "is a folder"),
    ],
)
async def test_what_cannot_be_edited(desk: Desk, arguments: dict[str, str], message: str) -> None:
    desk.put("a", "x\n")
    desk.put("bin", b"x\0")
    desk.put("d/e", "")
    with pytest.raises(ToolError, match=message):
        await desk.ask("fs-edit", **{"path": "a", **arguments})


async def test_a_very_large_file_is_the_shells(desk: Desk) -> None:
    with (desk.root / "a").open("wb") as file:
        file.truncate(40 * 1024 * 1024)
    with pytest.raises(ToolError, match="use the shell"):
        await desk.ask("fs-edit", path="a", old="x", new="y")


async def test_a_marker_from_a_result_is_refused(desk: Desk) -> None:
    """ENG-6: in old or new; around the secret the file can be edited."""
    path = desk.put("conf", "key = planted # old\n")
    desk.ports.shown_markers = True
    for old, new in (("key = [redacted:aws] # old", "x"), ("key", "[redacted:aws]")):
        with pytest.raises(ToolError, match="begins after the secret or ends before it"):
            await desk.run("fs-edit", path="conf", old=old, new=new)
    await desk.run("fs-edit", path="conf", old=" # old\n", new=" # new\n")
    assert path.read_text() == "key = planted # new\n"


TEXTS = st.text(alphabet="ab \t\n\r", max_size=30)


@settings(deadline=None)
@given(TEXTS, st.text(alphabet="ab \n", min_size=1, max_size=8), TEXTS)
def test_a_replacement_touches_its_place_only(text: str, old: str, new: str) -> None:
    """Whatever the texts: what is before and behind a match stays byte for byte, and no line end is
    ever cut in two.
    """
    for match in (*exact(text, old), *forgiving(text, old)):
        after = replaced(text, match, new)
        if after is None:
            continue
        head, tail = text[: match.start], text[match.end :]
        assert after.startswith(head)
        assert after.endswith(tail)
        assert len(after) >= len(head) + len(tail)
        assert not (head.endswith("\r") and text[match.start : match.start + 1] == "\n")


@settings(deadline=None)
@given(TEXTS, st.text(alphabet="ab\n", min_size=1, max_size=3))
def test_exact_places_are_those_of_the_text_without_carriage_returns(text: str, old: str) -> None:
    plain = text.replace("\r", "")
    dos = plain.replace("\n", "\r\n")
    places = [at for at in range(len(plain)) if plain.startswith(old, at)]
    assert [match.start for match in exact(plain, old)] == places
    assert len(exact(dos, old)) == len(places)
    assert len(apart(exact(plain, old))) == plain.count(old)
