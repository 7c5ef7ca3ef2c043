"""Files found by a few letters, while a person types (TUI-7)."""

from pathlib import Path

import pytest

from nodwyn_tui.agent.finding import MOST, best
from nodwyn_tui.link import commands
from nodwyn_tui.link import events as up
from tests.agent.rig import Rig
from tests.fakes.chat_server import ChatServer

PATHS = [
    "docs/auth.md", "src/app/auth.py", "src/app/author.py", "src/login/page.py", "auth",
    "tests/test_auth.py", "a/u/t/h.txt",
]  # fmt: skip


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("auth", ["auth", "docs/auth.md", "src/app/auth.py", "src/app/author.py",
                  "tests/test_auth.py", "a/u/t/h.txt"]),
        ("app/au", ["src/app/auth.py", "src/app/author.py"]),
        ("slp", ["src/login/page.py"]),
        ("zzz", []),
        (".*(", []),
    ],
)  # fmt: skip
def test_a_name_comes_before_a_path_and_letters_in_order_last(
    query: str, wanted: list[str]
) -> None:
    assert [PATHS[at] for at in best(PATHS, query)][: len(wanted)] == wanted


def test_no_more_than_can_be_shown() -> None:
    assert len(best([f"dir{n}/name" for n in range(1_000)], "name")) == MOST


async def found(rig: Rig, query: str) -> up.FilesFound:
    rig.tell(commands.FindFiles(query=query))
    return await rig.until(up.FilesFound, lambda e: e.query == query and not e.more)


async def test_the_workspace_as_the_person_sees_it(rig: Rig) -> None:
    """Without what .gitignore leaves out, as it is now: a file that was made since is found."""
    (rig.workspace / ".gitignore").write_text("out/\n")
    for name in ("out/Notes.md", "src/Notes.md", "with space é.txt"):
        path: Path = rig.workspace / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("x")
    with ChatServer([]) as server:
        rig.configure(server)
        await rig.open()
        assert (await found(rig, "notes")).paths == ("src/Notes.md",)
        assert (await found(rig, "e é")).paths == ("with space é.txt",)
        assert "src/Notes.md" in (await found(rig, "")).paths


async def test_the_latest_query_is_answered_without_waiting_for_all(rig: Rig) -> None:
    """TUI-7: a large workspace makes no pause; the answer comes again once all is listed."""
    for folder in range(40):
        (rig.workspace / f"d{folder}").mkdir()
        for n in range(100):
            (rig.workspace / f"d{folder}" / f"file{n}.py").touch()
    with ChatServer([]) as server:
        rig.configure(server)
        await rig.open()
        for query in ("f", "fi", "fil"):
            rig.tell(commands.FindFiles(query=query))
        last = await found(rig, "d39/file99")
        assert last.paths[0] == "d39/file99.py"
