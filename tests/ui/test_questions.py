"""Calls that wait for the person: asked where they are, answered with one key (TUI-10, AGT-8)."""

import asyncio
from dataclasses import replace

import pytest
from textual import events
from textual.pilot import Pilot

from nodwyn_tui.link import commands
from nodwyn_tui.link import events as up
from nodwyn_tui.ui.screens.stage import QUIET_S
from nodwyn_tui.ui.widgets.transcript import GUARD_S
from tests.ui import scenes
from tests.ui.backend import Stage, press, settled


async def armed(pilot: Pilot[object]) -> None:
    """Wait until the keys that answer are live."""
    await settled(pilot)
    await asyncio.sleep(GUARD_S + 0.05)
    await settled(pilot)


def answers(stage: Stage) -> list[commands.Answer]:
    return stage.backend.of(commands.Answer)


@pytest.mark.parametrize(
    ("key", "answer"),
    [
        ("a", commands.Answer(call_id="c12", allow=True)),
        ("s", commands.Answer(call_id="c12", allow=True, scope="session")),
        ("w", commands.Answer(call_id="c12", allow=True, scope="always")),
    ],
)
async def test_one_key_answers(key: str, answer: commands.Answer) -> None:
    stage = Stage(*scenes.approval())
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await armed(pilot)
        assert "[a]llow once" in stage.text()
        await press(pilot, key)
        assert answers(stage) == [answer]
        stage.backend.tell(up.ApprovalClosed(call_id="c12"))
        await settled(pilot)
        assert "[a]llow once" not in stage.text()
        assert stage.screen.prompt.has_focus


async def test_a_click_answers_too() -> None:
    stage = Stage(*scenes.approval())
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await armed(pilot)
        rows = stage.text().split("\n")
        row = next(n for n, line in enumerate(rows) if "[a]llow" in line)
        await pilot.click("#transcript", offset=(rows[row].index("[s]") + 1, row - 1))
        await settled(pilot)
        assert answers(stage) == [commands.Answer(call_id="c12", allow=True, scope="session")]


async def test_always_needs_a_pattern() -> None:
    *before, asked = scenes.approval()
    assert isinstance(asked, up.ApprovalAsked)
    stage = Stage(*before, replace(asked, pattern=""))
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await armed(pilot)
        await press(pilot, "w")
        assert answers(stage) == []


async def test_no_asks_for_a_reason_and_gives_the_draft_back() -> None:
    stage = Stage(*scenes.approval())
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await armed(pilot)
        await press(pilot, "n", *"use ", "x", "enter")
        assert answers(stage) == [commands.Answer(call_id="c12", allow=False, reason="use x")]
        stage.backend.tell(up.ApprovalClosed(call_id="c12"))
        await settled(pilot)
        assert stage.screen.prompt.text == ""
        assert not stage.screen.prompt.asks_reason


async def test_letters_of_the_reason_do_not_answer() -> None:
    """In one burst: what follows the `n` is the reason already."""
    stage = Stage(*scenes.approval())
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await armed(pilot)
        for key in "never":
            stage.app.post_message(events.Key(key, key))
        await settled(pilot)
        await press(pilot, "enter")
        assert answers(stage) == [commands.Answer(call_id="c12", allow=False, reason="ever")]


async def test_a_question_is_answered_once() -> None:
    """What follows the answer in the same burst is text, also while the worker has not heard yet;
    a worker that could not keep the answer asks again.
    """
    stage = Stage(*scenes.approval())
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await armed(pilot)
        for key in "snow":
            stage.app.post_message(events.Key(key, key))
        await settled(pilot)
        given = commands.Answer(call_id="c12", allow=True, scope="session")
        assert answers(stage) == [given]
        assert stage.screen.prompt.text == "now"
        assert not stage.screen.prompt.asks_reason
        stage.backend.tell(scenes.approval()[-1])
        await settled(pilot)
        await press(pilot, "tab", "a")
        assert answers(stage) == [given, commands.Answer(call_id="c12", allow=True)]


async def test_the_reason_can_be_put_away() -> None:
    stage = Stage(*scenes.approval())
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await armed(pilot)
        await press(pilot, "n", "x", "escape")
        await settled(pilot)
        assert answers(stage) == []
        assert stage.backend.of(commands.Interrupt) == [], "Esc went to the question"
        await press(pilot, "a")
        assert answers(stage) == [commands.Answer(call_id="c12", allow=True)]


async def test_a_question_never_takes_the_keyboard_from_somebody_who_writes() -> None:
    """Nor answers with a key that was on its way."""
    *before, asked = scenes.approval()
    stage = Stage(*before)
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await press(pilot, "a")
        stage.backend.tell(asked)
        await settled(pilot)
        await press(pilot, "s")
        assert stage.screen.prompt.text == "as"
        await asyncio.sleep(QUIET_S + 0.1)
        await press(pilot, "w")
        assert stage.screen.prompt.text == "asw"
        assert "Tab, then a key" in stage.text()
        assert answers(stage) == []
        await press(pilot, "tab", "a")
        assert answers(stage) == [commands.Answer(call_id="c12", allow=True)]
        assert stage.screen.prompt.draft == "asw"


async def test_it_takes_the_keyboard_once_it_is_quiet() -> None:
    *before, asked = scenes.approval()
    stage = Stage(*before)
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await press(pilot, "x", "backspace")
        stage.backend.tell(asked)
        await settled(pilot)
        assert stage.screen.prompt.has_focus
        await asyncio.sleep(QUIET_S)
        await settled(pilot)
        assert stage.screen.transcript.has_focus
        await press(pilot, "a")
        assert answers(stage) == [], "the guard"
        await armed(pilot)
        await press(pilot, "a")
        assert len(answers(stage)) == 1


async def test_several_questions_are_gone_through() -> None:
    """Each says its number; the keys answer the one that shows them."""
    calls = [scenes.call(n, "shell", f"shell make {n}", "waiting") for n in (21, 22, 23)]
    asked = [
        up.ApprovalAsked(
            call_id=made.call_id, entry_id=made.id, tool="shell", title="", command=f"make {n}"
        )
        for n, made in enumerate(calls)
    ]
    stage = Stage(*scenes.approval()[:4], *(up.EntryAdded(entry=made) for made in calls), *asked)
    async with stage.app.run_test(size=(80, 30)) as pilot:
        await armed(pilot)
        text = stage.text()
        assert "(1 of 3)  [a]llow" in text
        assert "(2 of 3)  Tab, then" in text
        await press(pilot, "down")
        assert "(2 of 3)  [a]llow" in stage.text()
        await press(pilot, "a")
        stage.backend.tell(up.ApprovalClosed(call_id="c22"))
        await settled(pilot)
        await press(pilot, "s")
        assert [a.call_id for a in answers(stage)] == ["c22", "c21"]
        stage.backend.tell(up.ApprovalClosed(call_id="c21"), up.ApprovalClosed(call_id="c23"))
        await settled(pilot)
        assert stage.screen.prompt.has_focus


async def test_a_long_change_shows_its_keys_and_opens() -> None:
    *before, asked = scenes.approval()
    assert isinstance(asked, up.ApprovalAsked)
    diff = "--- a\n+++ a\n@@ -1 +1,99 @@\n" + "\n".join(f"+line {n}" for n in range(99))
    stage = Stage(*before, replace(asked, diff=diff))
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await armed(pilot)
        assert "more lines · e shows them" in stage.text()
        assert "[a]llow once" in stage.text()
        await press(pilot, "e")
        await settled(pilot)
        assert "more lines · e" not in stage.text()
        await press(pilot, "end")
        assert "line 98" in stage.text()
        assert "[a]llow once" in stage.text()


async def test_a_bell_rings_if_the_terminal_is_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    rung: list[bool] = []
    *before, asked = scenes.approval()
    stage = Stage(*before)
    async with stage.app.run_test(size=(80, 24)) as pilot:
        monkeypatch.setattr(stage.app, "bell", lambda: rung.append(True))
        stage.app.post_message(events.AppBlur())
        await settled(pilot)
        stage.backend.tell(asked)
        await settled(pilot)
        assert rung == [True]


async def test_escape_stops_the_run_from_a_question() -> None:
    stage = Stage(*scenes.approval())
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await armed(pilot)
        await press(pilot, "escape")
        assert stage.backend.of(commands.Interrupt) == [commands.Interrupt()]
        assert answers(stage) == []
