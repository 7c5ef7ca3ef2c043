"""An earlier window on the screen: opened at its divider, of any length (ROL-14)."""

import re
from dataclasses import replace

import pytest
from textual.pilot import Pilot

from nodwyn_tui.link import commands
from nodwyn_tui.link import events as up
from nodwyn_tui.link.requests import (
    FetchPieces,
    LeaveRequest,
    Piece,
    PiecesLoaded,
    ShowWindow,
    WindowShown,
)
from nodwyn_tui.ui.screens.window_sheet import WindowSheet
from nodwyn_tui.ui.widgets import request_rows
from tests.ui import scenes
from tests.ui.backend import OPENED, Stage, press, settled

ROWS, LINES = 20_000, 9


def piece(row: int) -> Piece:
    """A row of some lines, each with its number."""
    lines = (f"row {row} line {n} {'and more ' * 6}" for n in range(LINES))
    return Piece(row=row, role="user", part="text", text="\n".join(lines), line=row, tokens=90)


def served(on: Stage) -> None:
    """The worker has a request of very many rows."""
    characters = ROWS * len(piece(1).text)
    shown = replace(scenes.WINDOW, messages=ROWS, pieces=ROWS, characters=characters)
    on.backend.answers[ShowWindow] = lambda _: [shown]

    def answer(command: commands.Command) -> list[up.UpEvent]:
        assert isinstance(command, FetchPieces)
        some = range(command.first + 1, min(command.first + command.count, ROWS) + 1)
        return [
            PiecesLoaded(seq=shown.seq, first=command.first, pieces=tuple(map(piece, some[:70])))
        ]

    on.backend.answers[FetchPieces] = answer


def lines_of(on: Stage) -> list[tuple[int, int]]:
    """The lines on the screen, by row and number."""
    found = re.findall(r"row (\d+) line (\d)", on.text())
    return [(int(row), int(line)) for row, line in found]


async def opened(pilot: Pilot[object]) -> None:
    await settled(pilot)
    pilot.app.conversation.transcript.focus()  # type: ignore[attr-defined]
    await press(pilot, *["up"] * 7, "enter")
    await settled(pilot)


async def test_enter_on_a_divider_shows_the_window_that_was_left() -> None:
    """ROL-14: its rows, figures and digest, inert; Esc leads back."""
    on = Stage(*scenes.rolled())
    on.backend.answers[ShowWindow] = lambda _: [scenes.WINDOW]
    on.backend.answers[FetchPieces] = scenes.pieces
    async with on.app.run_test(size=(120, 50)) as pilot:
        await opened(pilot)
        assert on.backend.of(ShowWindow) == [ShowWindow(at=13)]
        seen = on.text()
        for words in (
            "Window w:0, as it was last sent",
            "50,100 tokens estimated, 48,733 counted by the server",
            "rebuilt from the log ✓",
            scenes.WINDOW.digest,
            "You are Nodwyn, an assistant.",
            "tool fs-read",
            "1 user · line 4",
            "call fs-search c7",
            '{"query": "login"}',
            "shortened · ~210 tokens",
            "[bold]not markup[/]",
        ):
            assert words in seen
        assert "\x1b" not in seen
        await press(pilot, "escape")
        await settled(pilot)
        assert not isinstance(on.app.screen, WindowSheet)
        assert on.backend.of(LeaveRequest) == [LeaveRequest()]
        assert on.screen.transcript.has_focus


async def test_of_a_long_window_only_what_is_near_is_fetched() -> None:
    """ROL-14: a million tokens are read from either end, and no line is lost on the way."""
    on = Stage(*scenes.rolled())
    served(on)
    async with on.app.run_test(size=(100, 40)) as pilot:
        await opened(pilot)
        assert lines_of(on)[0] == (1, 0)
        read = lines_of(on)
        for _ in range(30):
            await press(pilot, "pagedown")
            await settled(pilot, 0.01)
            read += lines_of(on)
        assert list(dict.fromkeys(read)) == sorted(set(read))
        assert (
            sorted(set(read))
            == [(row, line) for row in range(1, read[-1][0] + 1) for line in range(LINES)][
                : len(set(read))
            ]
        )
        await press(pilot, "end")
        await settled(pilot)
        assert lines_of(on)[-1] == (ROWS, LINES - 1)
        back = lines_of(on)[::-1]
        for _ in range(10):
            await press(pilot, "pageup")
            await settled(pilot, 0.01)
            back += lines_of(on)[::-1]
        assert list(dict.fromkeys(back)) == sorted(set(back), reverse=True)
        await press(pilot, "home")
        await settled(pilot)
        assert lines_of(on)[0] == (1, 0)
        asked = sum(min(command.count, 70) for command in on.backend.of(FetchPieces))
        assert asked < 800


async def test_what_is_far_away_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """However far one scrolls, little is held."""
    on = Stage(*scenes.rolled())
    served(on)
    kept = 100 * len(piece(1).text)
    monkeypatch.setattr(request_rows, "KEPT", kept)
    async with on.app.run_test(size=(100, 40)) as pilot:
        await opened(pilot)
        sheet = on.app.screen
        assert isinstance(sheet, WindowSheet)
        for _ in range(60):
            await press(pilot, "pagedown")
        await settled(pilot)
        assert sheet._request.text._size <= kept
        await press(pilot, "home")
        await settled(pilot)
        assert lines_of(on)[0] == (1, 0)


async def test_why_there_is_no_window_is_said() -> None:
    on = Stage(*scenes.rolled())
    on.backend.answers[ShowWindow] = lambda _: [
        WindowShown(at=13, problem="nothing was sent from this window")
    ]
    async with on.app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        assert "nothing was sent from this window" in on.text()
        assert on.backend.of(FetchPieces) == []


async def test_it_goes_with_its_session() -> None:
    """Another session knows nothing of it, nor does another worker."""
    on = Stage(*scenes.rolled(), workers=1)
    served(on)
    async with on.app.run_test(size=(100, 40)) as pilot:
        await opened(pilot)
        on.backend.tell(replace(OPENED, session="20250102-030405-cd34"))
        await settled(pilot)
        assert not isinstance(on.app.screen, WindowSheet)
        on.backend.tell(up.EntriesLoaded(entries=scenes.ROLLED, done=True))
        await opened(pilot)
        assert isinstance(on.app.screen, WindowSheet)
        on.backend.die()
        await settled(pilot)
        assert not isinstance(on.app.screen, WindowSheet)
