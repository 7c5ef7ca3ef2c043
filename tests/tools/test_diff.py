"""The unified diff that the person sees."""

import os
import subprocess

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nodwyn_tui.tools.diff import counts, unified

LINES = st.lists(st.sampled_from(["a", "b", "c", "d", ""]), max_size=14).map(
    lambda lines: "".join(line + "\n" for line in lines)
)


def test_one_changed_line_with_its_context() -> None:
    old = "".join(f"{number}\n" for number in range(1, 11))
    assert unified(old, old.replace("5\n", "five\n"), "n.txt") == (
        "--- n.txt\n+++ n.txt\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8"
    )
    assert counts(old, old.replace("5\n", "five\n")) == (1, 1)


def test_nothing_changed() -> None:
    assert unified("a\n", "a\n", "x") == ""
    assert counts("", "") == (0, 0)


def test_a_missing_final_line_end_is_said() -> None:
    assert unified("a", "b\n", "x").endswith("-a\n\\ No newline at end of file\n+b")


@pytest.mark.parametrize(
    ("old", "new", "rows"),
    [
        ("a\r\n", "b\r\n", ["-a", "+b"]),
        ("a\r\n", "a\n", ["-a\\r", "+a"]),
        ("a\x1b[2J\n", "\u202eb\n", ["-a\\x1b[2J", "+\\u202eb"]),
    ],
)
def test_codes_and_line_ends_are_inert(old: str, new: str, rows: list[str]) -> None:
    """SEC-3: and line ends are shown where they are what changed."""
    assert unified(old, new, "x").split("\n")[3:] == rows


def test_a_diff_is_bounded_and_says_so() -> None:
    old = "".join(f"{number}\n" for number in range(20_000))
    diff = unified(old, old.replace("\n", "!\n"), "x")
    assert diff.count("\n") < 700
    assert diff.endswith("more lines of this diff are not shown")
    assert len(unified("", "x" * 1_000_000 + "\n", "x")) < 3000
    assert counts(old, old.replace("\n", "!\n")) == (20_000, 20_000)


@settings(
    max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(LINES, LINES)
def test_it_applies(tmp_path_factory: pytest.TempPathFactory, old: str, new: str) -> None:
    """What is shown is exactly the change: git makes the new text of it."""
    diff = unified(old, new, "a")
    if not diff or not old:
        return
    folder = tmp_path_factory.mktemp("apply")
    (folder / "a").write_text(old)
    subprocess.run(
        ["git", "apply", "-p0", "--unidiff-zero", "-"],
        cwd=folder,
        input=diff + "\n",
        text=True,
        check=True,
        env={"GIT_CEILING_DIRECTORIES": str(folder.parent), "PATH": os.environ["PATH"]},
    )
    assert ((folder / "a").read_text() if (folder / "a").exists() else "") == new
