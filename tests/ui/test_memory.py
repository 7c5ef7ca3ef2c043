"""`/memory` on the screen (ORD-10)."""

import pytest

from nodwyn_tui.link import commands
from nodwyn_tui.link import events as up
from tests.ui.backend import OPENED, Stage, press, settled

TEXTS = (
    up.MemoryText(
        file="facts",
        keeper="workspace",
        path="/src/app/.nodwyn/memory/facts.md",
        text="- 2026-11-30 the port\tis 8080\x1b[2J\n",
    ),
    up.MemoryText(file="facts", keeper="person", path="/home/p/memory/facts.md"),
    up.MemoryText(
        file="corrections",
        keeper="workspace",
        path="/src/app/.nodwyn/memory/corrections.md",
        problem="it is no text; mend or remove it",
    ),
    up.MemoryText(file="corrections", keeper="person", path="/c.md", text="x" * 30_000),
)


async def test_what_is_remembered_and_where_is_shown() -> None:
    """TUI-8: paths and contents, all of it inert; Esc puts it away."""
    on = Stage(OPENED)
    on.backend.answers[commands.ShowMemory] = lambda _: [up.MemoryShown(texts=TEXTS)]
    async with on.app.run_test(size=(80, 40)) as pilot:
        await settled(pilot)
        await press(pilot, *"/memory", "enter")
        await settled(pilot)
        assert on.backend.of(commands.ShowMemory) == [
            commands.ShowMemory(files=("facts", "corrections", "context-notes"))
        ]
        seen = on.text()
        for words in (
            "facts (here)",
            "/src/app/.nodwyn/memory/facts.md",
            "- 2026-11-30 the port",
            "facts (yours, everywhere)",
            "nothing yet",
            "it is no text; mend or remove it",
        ):
            assert words in seen
        assert "\x1b" not in seen
        await press(pilot, "escape")
        await settled(pilot)
        assert "facts (here)" not in on.text()


@pytest.mark.parametrize(
    ("name", "file"),
    [("facts", "facts"), ("corrections", "corrections"), ("Notes", "context-notes")],
)
async def test_one_file_is_asked_for_by_its_name(name: str, file: str) -> None:
    on = Stage(OPENED)
    async with on.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await press(pilot, *f"/memory {name}", "enter")
        await settled(pilot)
        assert [command.files for command in on.backend.of(commands.ShowMemory)] == [(file,)]


async def test_another_name_is_told_what_there_is() -> None:
    on = Stage(OPENED)
    async with on.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await press(pilot, *"/memory wishes", "enter")
        await settled(pilot)
        assert on.backend.of(commands.ShowMemory) == []
        assert "there is no memory wishes; there are facts, corrections, notes" in on.text()
