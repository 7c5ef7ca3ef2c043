"""Changing the window from the screen (TUI-15), and messages that come back (AGT-4)."""

from dataclasses import replace

import pytest

from nodwyn_tui.link import commands
from nodwyn_tui.link import events as up
from nodwyn_tui.ui.screens.editing import AFTER_A_RUN_S
from nodwyn_tui.ui.widgets.options import price
from tests.ui import scenes
from tests.ui.backend import OPENED, Stage, press, settled

REWIND = commands.EditWindow(entry_id="", action="rewind")


def priced(command: commands.Command) -> list[up.UpEvent]:
    assert isinstance(command, commands.PriceEdit)
    return [scenes.priced(command.entry_id)]


def stage(*events: up.UpEvent) -> Stage:
    """A conversation that waits, its prices at hand."""
    made = Stage(*(events or scenes.conversation()))
    made.backend.answers[commands.PriceEdit] = priced
    made.backend.answers[commands.ListMessages] = lambda _: [scenes.MESSAGES]
    return made


async def test_delete_opens_what_can_be_done_with_the_entry_and_its_price() -> None:
    """TUI-15: told before anything is done."""
    on = stage()
    async with on.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await press(pilot, "tab", "up", "up", "delete")
        await settled(pilot)
        text = on.text()
        assert "shell uv run pytest -q tests/test_login.py" in text
        assert "frees ~1.2k tokens · ~8.3k behind it are read anew, $0.0249" in text
        assert on.backend.of(commands.EditWindow) == []
        await press(pilot, "down", "enter")
        await settled(pilot)
        assert on.backend.told[-1] == commands.EditWindow(entry_id="00000009", action="drop")
        assert on.app.screen is on.screen


async def test_escape_puts_the_menu_away_and_nothing_is_done() -> None:
    on = stage()
    async with on.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await press(pilot, "tab", "up", "delete", "escape")
        await settled(pilot)
        assert on.app.screen is on.screen
        assert on.backend.of(commands.EditWindow) == []
        assert on.screen.transcript.has_focus


async def test_menu_says_why_nothing_can_be_done() -> None:
    on = stage()
    on.backend.answers[commands.PriceEdit] = lambda command: [
        up.EditPriced(
            entry_id=command.entry_id,  # type: ignore[attr-defined]
            options=(),
            why_not="the [b]window[/b] began anew after it",
        )
    ]
    async with on.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await press(pilot, "tab", "up", "delete")
        await settled(pilot)
        assert "the [b]window[/b] began anew after it" in on.text(), "C56: no markup"
        await press(pilot, "enter")
        await settled(pilot)
        assert on.backend.of(commands.EditWindow) == []


async def test_a_late_price_of_another_entry_is_not_shown() -> None:
    on = stage()
    on.backend.answers.clear()
    async with on.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await press(pilot, "tab", "up", "delete")
        on.backend.tell(scenes.priced("00000004"))
        await settled(pilot)
        assert "frees" not in on.text()
        await press(pilot, "enter")
        assert "In the window" in on.text(), "nothing is picked before it is known"


async def test_one_key_brings_back_what_was_taken_out_last() -> None:
    on = stage()
    async with on.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await press(pilot, "tab", "up", "up", "delete", "enter", "down", "ctrl+z")
        await settled(pilot)
        assert on.backend.told[-1] == commands.EditWindow(entry_id="00000009", action="restore")
        await press(pilot, "ctrl+z")
        await settled(pilot)
        assert len(on.backend.of(commands.EditWindow)) == 2, "an entry in the window stays there"
        assert "nothing was taken out" in on.text()


async def test_one_key_brings_the_current_entry_back() -> None:
    on = stage()
    async with on.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        on.backend.tell(up.StatesChanged(ids=("00000009",), state="elided"))
        await press(pilot, "tab", "up", "up", "ctrl+z")
        await settled(pilot)
        assert on.backend.told[-1] == commands.EditWindow(entry_id="00000009", action="restore")


async def test_one_key_brings_a_message_that_was_not_sent_into_the_prompt() -> None:
    """ROL-8: it says so beside it, and what is being written stays below it."""
    on = stage(*scenes.rolled())
    on.backend.answers[commands.EditWindow] = lambda _: [
        up.Returned(text="Here is the log of the build: …", why="again")
    ]
    async with on.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        assert "You · not sent" in on.text()
        assert "^Z writes it anew · outside" in on.text()
        await press(pilot, *"more", "tab", "up", "up", "ctrl+z")
        await settled(pilot)
        assert on.backend.of(commands.EditWindow) == [
            commands.EditWindow(entry_id="00000019", action="rewrite")
        ]
        assert on.screen.prompt.text == "Here is the log of the build: …\n\nmore"
        assert on.screen.prompt.has_focus
        on.backend.tell(up.KeysChanged(keys=(("bring_back", "ctrl+b"),)))
        await settled(pilot)
        assert "^B writes it anew" in on.text()


@pytest.mark.parametrize(
    ("line", "entry_id"), [("/drop", "00000009"), ("/fold", "00000008"), ("/restore", "00000007")]
)
async def test_commands_mean_the_last_call_that_they_suit(line: str, entry_id: str) -> None:
    """TUI-8."""
    on = stage()
    on.backend.tell(
        up.StatesChanged(ids=("00000007",), state="elided"),
        up.StatesChanged(ids=("00000009",), state="folded"),
    )
    if line == "/restore":
        on.backend.tell(up.StatesChanged(ids=("00000009",), state="in"))
    async with on.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await press(pilot, *line, "enter")
        await settled(pilot)
        assert on.backend.told[-1] == commands.PriceEdit(entry_id=entry_id)
        await press(pilot, "enter")
        await settled(pilot)
        action = line.removeprefix("/")
        assert on.backend.told[-1] == commands.EditWindow(entry_id=entry_id, action=action)


async def test_commands_mean_the_current_entry() -> None:
    on = stage()
    async with on.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await press(pilot, "tab", "up", "tab", *"/drop", "enter")
        await settled(pilot)
        assert on.backend.told[-1] == commands.PriceEdit(entry_id="00000010")


async def test_a_command_without_an_entry_says_so() -> None:
    on = stage(OPENED)
    async with on.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await press(pilot, *"/fold", "enter")
        await settled(pilot)
        assert "there is no entry that this could be done with" in on.text()


async def test_escape_twice_takes_the_last_message_back_into_the_prompt() -> None:
    """AGT-4: and says what becomes of files."""
    on = stage()
    on.backend.answers[commands.EditWindow] = lambda _: [up.Returned(text="go", why="rewound")]
    async with on.app.run_test(size=(100, 24)) as pilot:
        await settled(pilot)
        on.clock.seconds += AFTER_A_RUN_S + 1
        await press(pilot, "escape")
        assert "Esc edit your last message" in on.text()
        await press(pilot, "escape")
        await settled(pilot)
        assert on.backend.of(commands.EditWindow)[-1] == REWIND
        assert on.screen.prompt.text == "go"
        assert "files stay as they are" in " ".join(on.text().split())
        await press(pilot, "f2")
        await settled(pilot)
        assert f"nodwyn replay {OPENED.session}" in " ".join(on.text().split())


async def test_escape_twice_again_offers_earlier_messages() -> None:
    """AGT-4: what is picked stands in place of what was not edited."""
    on = stage()
    texts = iter(["go", "an earlier one"])
    on.backend.answers[commands.EditWindow] = lambda _: [
        up.Returned(text=next(texts), why="rewound")
    ]
    async with on.app.run_test(size=(100, 24)) as pilot:
        await settled(pilot)
        on.clock.seconds += AFTER_A_RUN_S + 1
        await press(pilot, "escape", "escape")
        await settled(pilot)
        await press(pilot, "escape", "escape")
        await settled(pilot)
        assert "Why does [b]it[/b] fail?" in on.text()
        await press(pilot, "down", "enter")
        await settled(pilot)
        edits = on.backend.of(commands.EditWindow)
        assert edits[-1] == commands.EditWindow(entry_id="00000004", action="rewind")
        assert on.screen.prompt.text == "an earlier one"


async def test_a_list_without_a_message_says_what_can_be_done_instead() -> None:
    """TUI-15: after a rollover in mid-run what the person asked stands behind it."""
    on = stage()
    on.backend.answers[commands.ListMessages] = lambda _: [up.MessagesListed(messages=())]
    async with on.app.run_test(size=(100, 24)) as pilot:
        await settled(pilot)
        await press(pilot, *"/rewind", "enter")
        await settled(pilot)
        shown = " ".join(on.text().split())
        assert "no message of yours is in the window" in shown
        assert "anew, by its menu" in shown
        assert "nothing to pick from yet" not in shown


async def test_a_rewind_waits_for_the_run() -> None:
    on = stage()
    async with on.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        on.backend.tell(up.RunStarted(run=2))
        await settled(pilot)
        await press(pilot, *"/rewind", "enter")
        await settled(pilot)
        assert on.app.screen is on.screen
        assert "has to wait until this run has ended" in on.text()


async def test_escape_takes_nothing_back_while_something_is_written() -> None:
    on = stage()
    async with on.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        on.clock.seconds += AFTER_A_RUN_S + 1
        await press(pilot, "h", "escape", "escape", "escape")
        await settled(pilot)
        assert on.backend.of(commands.EditWindow) == []
        assert on.screen.prompt.text == "h"


async def test_escapes_that_were_meant_for_the_run_take_nothing_back() -> None:
    """AGT-3: who stops a run presses it more than once."""
    on = stage()
    async with on.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        on.backend.tell(up.RunStarted(run=2))
        await settled(pilot)
        await press(pilot, "escape", "escape")
        on.backend.tell(up.RunEnded(why="interrupted"))
        await settled(pilot)
        await press(pilot, "escape", "escape", "escape")
        await settled(pilot)
        assert on.backend.of(commands.EditWindow) == []
        assert len(on.backend.of(commands.Interrupt)) == 2


async def test_nothing_is_offered_where_another_process_writes() -> None:
    """No menu that waits for prices, no Esc Esc: why stands there."""
    _, told, *_ = scenes.conversation()
    on = Stage(replace(OPENED, read_only=True), told)
    async with on.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        assert "nothing is sent from here" in on.text()
        for keys in (("tab", "up", "delete"), ("tab", *"/rewind", "enter")):
            on.screen.notices.clear()
            await press(pilot, *keys)
            await settled(pilot)
            assert on.app.screen is on.screen
            assert "another process writes this session, so" in on.text()
        await press(pilot, "escape", "escape")
        assert "edit your last message" not in on.text()
    kinds = (commands.PriceEdit, commands.ListMessages, commands.EditWindow)
    assert not any(isinstance(command, kinds) for command in on.backend.told)


async def test_up_in_an_empty_prompt_edits_the_message_that_waits_last() -> None:
    """AGT-4: what waits can be changed, and taken back."""
    on = stage(*scenes.unsaved())
    on.backend.answers[commands.TakeBack] = lambda _: [
        up.Queued(texts=()),
        up.Returned(text="Then tidy up.", why="queued"),
    ]
    async with on.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        assert "↑ edits it" in on.text()
        await press(pilot, "up")
        await settled(pilot)
        assert on.backend.told[-1] == commands.TakeBack()
        assert on.screen.prompt.text == "Then tidy up."
        await press(pilot, "ctrl+u", "up")
        await settled(pilot)
        assert len(on.backend.of(commands.TakeBack)) == 1, "nothing waits any more"


async def test_a_click_on_what_waits_edits_it() -> None:
    on = stage(*scenes.unsaved())
    async with on.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.click("#queue")
        await settled(pilot)
        assert on.backend.told[-1] == commands.TakeBack()


@pytest.mark.parametrize(
    ("option", "words"),
    [
        (up.EditOption(action="rewrite", freed=0), "free: it is not in the window"),
        (up.EditOption(action="drop", freed=0), "frees nothing · free: nothing cached is lost"),
        (
            up.EditOption(action="restore", freed=-1200, again=50, cost_usd=0.254),
            "~1.2k tokens come back · ~50 behind it are read anew, $0.25",
        ),
        (
            up.EditOption(action="drop", freed=9, again=50, cost_usd=0.0000001),
            "frees ~9 tokens · ~50 behind it are read anew, $0.0001",
        ),
    ],
)
def test_price_in_words(option: up.EditOption, words: str) -> None:
    assert price(option) == words
