"""The sheet of `/compact`: read, edited, accepted, dropped (TUI-15)."""

import asyncio
from dataclasses import replace

import pytest
from textual.pilot import Pilot

from nodwyn_tui.domain.usage import Usage
from nodwyn_tui.link import commands
from nodwyn_tui.link import events as up
from nodwyn_tui.ui.screens.compaction_sheet import CompactionSheet
from nodwyn_tui.ui.screens.stage import QUIET_S
from nodwyn_tui.ui.widgets.compaction_facts import CompactionFacts
from nodwyn_tui.ui.widgets.lines import Line, plain
from tests.ui import scenes
from tests.ui.backend import OPENED, Stage, press, settled


async def shown(pilot: Pilot[object], stage: Stage) -> CompactionSheet:
    await settled(pilot)
    sheet = stage.app.screen
    assert isinstance(sheet, CompactionSheet)
    return sheet


def told(stage: Stage) -> list[commands.Command]:
    kinds = (commands.AcceptCompaction, commands.DropCompaction, commands.UndoCompaction)
    return [command for command in stage.backend.told if isinstance(command, kinds)]


def facts(offer: up.CompactionOffered, width: int = 200) -> str:
    rows = CompactionFacts(offer).bar_rows(width)
    return "\n".join(plain(Line(tuple(row))) for row in rows)


async def test_the_command_asks_and_the_sheet_shows_what_came() -> None:
    stage = Stage(*scenes.conversation())
    stage.backend.answers[commands.Compact] = lambda _: [up.CompactionStarted()]
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await press(pilot, *"/compact mind the tests", "enter")
        assert stage.backend.of(commands.Compact) == [commands.Compact(wish="mind the tests")]
        await settled(pilot)
        assert "asks for a handover note" in stage.text()
        stage.backend.tell(up.RequestSent(seq=20, model="m", purpose="handover"))
        await settled(pilot)
        assert "waits for m to write a note" in stage.text()
        await press(pilot, "escape")
        assert len(stage.backend.of(commands.Interrupt)) == 1
        stage.backend.tell(scenes.OFFER)
        await shown(pilot, stage)
        text = stage.text()
        assert "31.2k" in text
        assert "4.3k" in text
        assert "The person wants the login test to pass" in text
        assert "Enter accepts it" in text


async def test_the_sheet_never_takes_the_keyboard_from_somebody_who_writes() -> None:
    """Their Enter would accept a note unseen."""
    stage = Stage(*scenes.conversation())
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await press(pilot, *"now")
        stage.backend.tell(up.CompactionStarted(), scenes.OFFER)
        await settled(pilot)
        await press(pilot, *" tidy")
        assert stage.screen.prompt.text == "now tidy"
        await asyncio.sleep(QUIET_S + 0.1)
        await shown(pilot, stage)
        assert told(stage) == []
        assert stage.screen.prompt.text == "now tidy"


async def test_a_message_that_is_sent_first_has_the_sheet_not_come() -> None:
    stage = Stage(*scenes.conversation())
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await press(pilot, *"now")
        stage.backend.tell(up.CompactionStarted(), scenes.OFFER)
        await settled(pilot)
        await press(pilot, "enter")
        stage.backend.tell(up.RunStarted(run=2))
        await asyncio.sleep(QUIET_S + 0.1)
        await settled(pilot)
        assert stage.app.screen is stage.screen
        assert told(stage) == []


async def test_accepted_as_it_stands() -> None:
    stage = Stage(*scenes.compaction())
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await shown(pilot, stage)
        await press(pilot, "enter")
        assert told(stage) == [commands.AcceptCompaction(note=scenes.OFFER.note)]
        stage.backend.tell(up.CompactionEnded(text="compacted; /compact undo …", taken=True))
        await settled(pilot)
        assert "compacted; /compact undo" in stage.text()
        assert stage.screen.prompt.has_focus


async def test_edited_and_accepted() -> None:
    """Keys write while it is edited; the figures follow; Enter breaks the line there."""
    stage = Stage(*scenes.compaction())
    async with stage.app.run_test(size=(80, 24)) as pilot:
        sheet = await shown(pilot, stage)
        before = sheet.facts.after
        await press(pilot, "e", *"Also eat.", "enter")
        await settled(pilot)
        assert told(stage) == []
        assert sheet.writing
        assert sheet.facts.after > before
        await press(pilot, "escape", "enter")
        assert told(stage) == [commands.AcceptCompaction(note="Also eat.\n" + scenes.OFFER.note)]


@pytest.mark.parametrize("key", ["escape", "ctrl+c"])
async def test_dropped(key: str) -> None:
    stage = Stage(*scenes.compaction())
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await shown(pilot, stage)
        await press(pilot, key)
        await settled(pilot)
        assert told(stage) == [commands.DropCompaction()]
        assert stage.screen.prompt.has_focus


async def test_a_long_note_is_whole_and_scrolls() -> None:
    """It is no paste: nothing of it is folded."""
    note = "\n".join(f"point {n}" for n in range(200))
    stage = Stage(*scenes.conversation(), replace(scenes.OFFER, note=note))
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await shown(pilot, stage)
        assert "point 0" in stage.text()
        for _ in range(30):
            await press(pilot, "pagedown")
        await settled(pilot)
        assert "point 199" in stage.text()
        await press(pilot, "enter")
        assert told(stage) == [commands.AcceptCompaction(note=note)]


async def test_a_note_that_was_not_taken_is_shown_again() -> None:
    stage = Stage(*scenes.compaction())
    stage.backend.answers[commands.AcceptCompaction] = lambda _: [
        up.Notice(level="error", text="shorten the note"),
        replace(scenes.OFFER, note="as edited"),
    ]
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await shown(pilot, stage)
        await press(pilot, "enter")
        sheet = await shown(pilot, stage)
        assert sheet.note.whole_text == "as edited"
        await press(pilot, "escape")
        assert told(stage)[1:] == [commands.DropCompaction()]


async def test_another_session_puts_the_note_away() -> None:
    """What was on offer is no more; nothing is told about it."""
    stage = Stage(*scenes.compaction())
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await shown(pilot, stage)
        stage.backend.tell(OPENED)
        await settled(pilot)
        assert stage.app.screen is stage.screen
        assert told(stage) == []


async def test_undo_is_a_word_of_the_command() -> None:
    stage = Stage(*scenes.conversation())
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await press(pilot, *"/compact undo", "enter")
        assert told(stage) == [commands.UndoCompaction()]
        assert stage.backend.of(commands.Compact) == []


def test_what_was_not_reported_is_not_made_up() -> None:
    """TUI-16."""
    assert "costs  read 27.9k (97% from the cache) · wrote 210 · $0.0112" in facts(scenes.OFFER)
    assert "costs  unknown: the server reported no usage" in facts(
        replace(scenes.OFFER, usage=None)
    )
    only = replace(scenes.OFFER, usage=Usage(prompt_tokens=9))
    assert "costs  read 9 · the next request" in facts(only)
    own = facts(replace(scenes.OFFER, own=True, usage=None))
    assert "no room to ask the model, so the program wrote the note" in own


def test_facts_fit_a_narrow_sheet() -> None:
    rows = facts(scenes.OFFER, 50).split("\n")
    assert all(len(row) <= 50 for row in rows)
    assert rows[1].startswith("goes   3 messages of yours 420 · 14 replies 6.9k")
