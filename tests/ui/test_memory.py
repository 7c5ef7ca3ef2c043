"""`/memory` on the screen (ORD-10)."""

from pathlib import Path
from typing import Any

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
        items=1,
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


@pytest.mark.parametrize(("text", "items", "warned"), [("use pnpm", 0, True), ("- a", 1, False)])
async def test_text_that_no_model_is_told_is_said_to_be_that(
    text: str, items: int, warned: bool
) -> None:
    """ORD-10: a correction that is no list item would be kept for nothing."""
    on = Stage(OPENED)
    shown = up.MemoryText(file="corrections", keeper="person", path="/c", text=text, items=items)
    notes = up.MemoryText(file="context-notes", keeper="workspace", path="/n", text="free text")
    on.backend.answers[commands.ShowMemory] = lambda _: [up.MemoryShown(texts=(shown, notes))]
    async with on.app.run_test(size=(80, 40)) as pilot:
        await settled(pilot)
        await press(pilot, *"/memory", "enter")
        await settled(pilot)
        assert on.text().count("no request has any of this") == warned


def fact(text: str, *words: str, **fields: Any) -> up.RecalledFact:
    values = {"date": "", "keeper": "workspace", "later": 0, "sent": True, **fields}
    return up.RecalledFact(text=text, words=words, **values)


BOTH = up.Recalled(
    facts=(
        fact("the login page uses OAuth", "login", "page", date="2026-01-31", later=3),
        fact("answer\x1b[2J briefly", "answer", keeper="person"),
        fact("the login tests need a browser", "login", sent=False),
    ),
    matched=14,
    known=40,
    cap=1_200,
)


@pytest.mark.parametrize(
    ("told", "words"),
    [
        (
            {"recalled": BOTH},
            [
                "1. 2026-01-31 the login page uses OAuth",
                "has login, page · 3 came later",
                "2. answer",
                "has answer · the latest · yours",
                "matched, but 1,200 tokens are all that facts may take",
                "- the login tests need a browser",
                "… and 11 more",
            ],
        ),
        ({"recalled": up.Recalled(facts=(), matched=0, known=40, cap=9)}, ["none of 40 facts"]),
        ({}, ["none: no request of this window had facts to go through"]),
        ({"off": True}, ["this model is sent no fresh context"]),
    ],
)
async def test_what_the_last_request_had_and_why_is_shown(
    told: dict[str, Any], words: list[str]
) -> None:
    """ORD-10: with the words that it has of what was asked, and what had no room."""
    on = Stage(OPENED)
    on.backend.answers[commands.ShowMemory] = lambda _: [up.MemoryShown(texts=TEXTS, **told)]
    async with on.app.run_test(size=(80, 40)) as pilot:
        await settled(pilot)
        await press(pilot, *"/memory", "enter")
        await settled(pilot)
        seen = on.text()
    assert "in the last request" in seen
    assert [each for each in words if each not in seen] == []
    assert "\x1b" not in seen


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


async def test_a_file_is_picked_to_be_edited(tmp_path: Path) -> None:
    """ORD-10: what memory cannot be read from is not offered; where the screen cannot make way,
    that is said with the file's place.
    """
    mine = tmp_path / "memory" / "facts.md"
    texts = (up.MemoryText(file="facts", keeper="workspace", path=str(mine)), TEXTS[2])
    on = Stage(OPENED)
    on.backend.answers[commands.ShowMemory] = lambda _: [up.MemoryShown(texts=texts)]
    async with on.app.run_test(size=(80, 40)) as pilot:
        await settled(pilot)
        await press(pilot, *"/memory", "enter")
        await settled(pilot)
        await press(pilot, "e")
        await settled(pilot)
        assert "facts (here)" in on.text()
        assert "corrections (here)" not in on.text().partition("Edit")[2]
        await press(pilot, "enter")
        await settled(pilot)
        assert len(on.backend.of(commands.ShowMemory)) == 2, "what it says then is shown"
        await press(pilot, "escape")
        await settled(pilot)
        assert "no editor can be opened from here" in on.text()
    assert mine.parent.is_dir()
