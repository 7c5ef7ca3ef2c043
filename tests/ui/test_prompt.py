"""The prompt, driven by keys in the real app (TUI-7)."""

from dataclasses import replace

import pytest
from textual import events
from textual.pilot import Pilot

from nodwyn_tui.link import commands
from nodwyn_tui.link import events as up
from nodwyn_tui.ui.widgets.pastes import Pastes, clean, is_large
from nodwyn_tui.ui.widgets.prompt import Prompt
from tests.ui.backend import OPENED, Stage, press, settled

LOG = "".join(f"2026-02-03 10:00:{n:05} worker [b] 日志 step={n}\n" for n in range(10_000))


async def paste(stage: Stage, pilot: Pilot[object], text: str) -> None:
    stage.app.post_message(events.Paste(text))
    await settled(pilot)


def sent(stage: Stage) -> list[str]:
    return [command.text for command in stage.backend.of(commands.Send)]


def prompt(stage: Stage) -> Prompt:
    return stage.screen.prompt


async def test_enter_sends_and_the_ways_to_break_a_line_do_not() -> None:
    stage = Stage(OPENED)
    async with stage.app.run_test() as pilot:
        await press(pilot, "a", "ctrl+j", "b", "shift+enter", "c")
        await press(pilot, "backslash", "enter", "e", "enter")
        assert sent(stage) == ["a\nb\nc\ne"]
        assert prompt(stage).text == ""
        await press(pilot, "space", "enter")
        assert sent(stage) == ["a\nb\nc\ne"], "nothing but blanks is not sent"


async def test_a_message_during_a_run_is_queued_or_sent_into_it() -> None:
    """AGT-4: as the person picks."""
    stage = Stage(OPENED, up.RunStarted(run=1))
    async with stage.app.run_test(size=(100, 24)) as pilot:
        await settled(pilot)
        assert "Alt+Enter send in" in stage.text()
        await press(pilot, "a", "enter", "b", "alt+enter")
        assert stage.backend.of(commands.Send) == [
            commands.Send(text="a"),
            commands.Send(text="b", steer=True),
        ]


async def test_keys_of_one_burst_keep_their_order() -> None:
    """Stock text areas run bindings after printable keys that came later."""
    stage = Stage(OPENED)
    async with stage.app.run_test() as pilot:
        for key, character in (("a", "a"), ("b", "b"), ("x", "x"), ("backspace", "\x7f"),
                               ("c", "c"), ("left", None), ("d", "d"), ("enter", "\r"),
                               ("e", "e")):  # fmt: skip
            stage.app.post_message(events.Key(key, character))
        await settled(pilot)
        assert sent(stage) == ["abdc"]
        assert prompt(stage).text == "e"


async def test_a_command_typed_in_one_burst_is_that_command() -> None:
    """Not the one that was offered for its first letter."""
    stage = Stage(OPENED)
    async with stage.app.run_test() as pilot:
        await settled(pilot)
        for key, character in (("slash", "/"), ("n", "n"), ("e", "e"), ("w", "w"), ("enter", "\r")):
            stage.app.post_message(events.Key(key, character))
        await settled(pilot)
        assert commands.NewSession() in stage.backend.told
        assert stage.app.screen is stage.screen


async def test_a_message_that_came_back_is_not_its_own_predecessor() -> None:
    stage = Stage(replace(OPENED, history=("one", "two")))
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        stage.screen.prompt.put_back(["two"])
        await press(pilot, "up")
        assert stage.screen.prompt.text == "one"


async def test_lines_are_deleted_as_they_were_written() -> None:
    """Not row by row, as they are wrapped: what is left of a line would be sent with the next."""
    stage = Stage(OPENED)
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        prompt = stage.screen.prompt
        long = "word " * 60
        prompt.set_text(f"one\n{long}")
        await press(pilot, "ctrl+u")
        assert prompt.text == "one\n"
        await press(pilot, "ctrl+u")
        assert prompt.text == "one"
        prompt.set_text(f"{long}\ntwo")
        prompt.move_cursor((0, 5))
        await press(pilot, "ctrl+k")
        assert prompt.text == "word \ntwo"
        await press(pilot, "ctrl+k")
        assert prompt.text == "word two"
        await press(pilot, "ctrl+z", "ctrl+z")
        assert prompt.text == f"{long}\ntwo"


async def test_older_messages_wait_at_the_upper_edge() -> None:
    stage = Stage(replace(OPENED, history=("one", "two\nlines")))
    async with stage.app.run_test() as pilot:
        await settled(pilot)
        await press(pilot, "m", "i", "n", "e", "up")
        assert prompt(stage).text == "two\nlines"
        await press(pilot, "up", "up")
        assert prompt(stage).text == "one"
        await press(pilot, "up")
        assert prompt(stage).text == "one"
        await press(pilot, "down", "down", "down")
        assert prompt(stage).text == "mine"
        await press(pilot, "enter", "up")
        assert prompt(stage).text == "mine"


async def test_the_draft_is_told_at_most_twice_a_second_and_restored() -> None:
    opened = OPENED.__class__(
        session="s", workspace="/w", model="m", draft="from before\nthe crash"
    )
    stage = Stage(opened)
    async with stage.app.run_test() as pilot:
        await settled(pilot)
        assert prompt(stage).text == "from before\nthe crash"
        await press(pilot, *"abcdef")
        drafts = stage.backend.of(commands.SaveDraft)
        begun = len(drafts)
        for character in "ghi":
            stage.app.post_message(events.Key(character, character))
        await settled(pilot)
        await pilot.pause(0.6)
        assert len(stage.backend.of(commands.SaveDraft)) - begun <= 2
        assert stage.backend.told[-1] == commands.SaveDraft(text="from before\nthe crashabcdefghi")


async def test_what_was_typed_before_the_session_opened_is_not_lost_to_its_draft() -> None:
    stage = Stage()
    async with stage.app.run_test() as pilot:
        await press(pilot, "n", "e", "w")
        stage.backend.tell(replace(OPENED, draft="old"))
        await settled(pilot)
        assert prompt(stage).text == "new"


async def test_a_large_paste_is_one_stand_in_that_is_sent_whole() -> None:
    """C60: 10,000 lines, byte for byte; the prompt stays one line."""
    stage = Stage(OPENED)
    async with stage.app.run_test() as pilot:
        await press(pilot, *"see ")
        await paste(stage, pilot, LOG.replace("\n", "\r\n"))
        assert prompt(stage).text == "see [pasted 10,000 lines #1]"
        await press(pilot, "space", "o", "k", "enter")
        assert sent(stage) == [f"see {LOG} ok"]


@pytest.mark.parametrize("key", ["ctrl+z", "backspace", "ctrl+w", "alt+backspace"])
async def test_a_stand_in_goes_in_one_step(key: str) -> None:
    """C60: by undo, and by each key that deletes to the left."""
    stage = Stage(OPENED)
    async with stage.app.run_test() as pilot:
        await press(pilot, "a")
        await paste(stage, pilot, LOG)
        await press(pilot, key)
        assert prompt(stage).text == "a"
        await press(pilot, "ctrl+z" if key != "ctrl+z" else "ctrl+y")
        assert prompt(stage).whole_text == f"a{LOG}"


async def test_the_cursor_passes_over_a_stand_in() -> None:
    """An edit inside it would lose what it stands for."""
    stage = Stage(OPENED)
    async with stage.app.run_test() as pilot:
        await paste(stage, pilot, LOG)
        await press(pilot, "left", "x", "right", "y", "ctrl+left", "z", "home", "delete")
        assert "[pasted 10,000 lines #1]" in prompt(stage).text
        await press(pilot, "right", "shift+left", "shift+left", "delete")
        assert "pasted" not in prompt(stage).text


async def test_a_stand_in_opens() -> None:
    text = "\n".join(f"line {n}" for n in range(12))
    stage = Stage(OPENED)
    async with stage.app.run_test() as pilot:
        await paste(stage, pilot, text)
        await press(pilot, "f3")
        assert prompt(stage).text == text
        await press(pilot, "ctrl+z")
        assert prompt(stage).text == "[pasted 12 lines #1]"


async def test_a_small_paste_is_text_without_codes() -> None:
    stage = Stage(OPENED)
    async with stage.app.run_test() as pilot:
        await paste(stage, pilot, "a\r\nb\x1b[2J\x00\x07c\td")
        assert prompt(stage).text == "a\nb[2Jc\td"


@pytest.mark.parametrize("size", [4090, 4096, 8192])
async def test_medium_pastes_are_sent_as_they_are(size: int) -> None:
    """C61: here with what the terminal's reads were joined to."""
    text = "中" * size
    stage = Stage(OPENED)
    async with stage.app.run_test() as pilot:
        await paste(stage, pilot, text)
        await press(pilot, "enter")
        assert sent(stage) == [text]


async def test_the_cursor_counts_cells() -> None:
    """C59: through `你好abc測試`, the third character deleted, wrapped in a narrow prompt."""
    stage = Stage(OPENED)
    async with stage.app.run_test(size=(44, 24)) as pilot:
        area = prompt(stage)
        await paste(stage, pilot, "你好abc測試")
        left = area.cursor_screen_offset.x
        await press(pilot, "left", "left")
        assert area.cursor_screen_offset.x == left - 4
        await press(pilot, "home", "right", "right", "delete")
        assert area.text == "你好bc測試"
        await press(pilot, "end")
        await paste(stage, pilot, "測試" * 10)
        assert area.wrapped_document.height == 2
        assert area.cursor_screen_offset.y == area.region.y + 2
        await press(pilot, "up")
        assert area.cursor_location[1] < 18


@pytest.mark.parametrize("text", ["a 9.42.51\u202fAM", "한\u3000글", "x\u00a0y", "a\u2009b c"])
async def test_word_keys_next_to_unusual_blanks(text: str) -> None:
    """C62: at each position; whole characters go, and only from the cursor on."""
    stage = Stage(OPENED)
    async with stage.app.run_test() as pilot:
        area = prompt(stage)
        for position in range(len(text) + 1):
            for key in ("alt+backspace", "ctrl+w"):
                area.set_text(text)
                area.move_cursor((0, position))
                await press(pilot, key)
                assert area.text == text[: area.cursor_location[1]] + text[position:]
                assert (area.cursor_location[1] < position) == (position > 0)
            for key in ("ctrl+k", "alt+delete", "ctrl+left", "ctrl+right"):
                area.set_text(text)
                area.move_cursor((0, position))
                await press(pilot, key)
                assert text.startswith(area.text[:position])
                assert text.endswith(area.text[position:])


async def test_commands_complete_as_they_are_typed() -> None:
    stage = Stage(OPENED)
    async with stage.app.run_test() as pilot:
        await press(pilot, "slash", "m")
        await settled(pilot)
        assert "/model" in stage.text()
        assert "/mode " in stage.text()
        await press(pilot, "down", "tab")
        assert prompt(stage).text == "/mode "
        await press(pilot, *"plan", "enter")
        assert stage.backend.of(commands.SetMode)[-1] == commands.SetMode(mode="plan")
        assert prompt(stage).text == ""
        await press(pilot, "slash", "n", "enter")
        assert commands.NewSession() in stage.backend.told
        await press(pilot, "slash", "c", "escape")
        await settled(pilot)
        assert "/clear" not in stage.text()
        assert prompt(stage).text == "/c"


@pytest.mark.parametrize(
    "text", ["[pasted 10,000 lines #1]", "[/x] [b] \\", "/etc/hosts is what?", "a / b"]
)
async def test_brackets_and_paths_are_messages(text: str) -> None:
    """C56: typed text is text."""
    stage = Stage(OPENED)
    async with stage.app.run_test() as pilot:
        await paste(stage, pilot, text + "!")
        await press(pilot, "enter")
        assert sent(stage) == [text + "!"]


def test_pastes_keep_texts_apart() -> None:
    pastes = Pastes()
    first, second = pastes.fold("x\n" * 20), pastes.fold("y" * 2000)
    assert (first, second) == ("[pasted 20 lines #1]", "[pasted 2,000 characters #2]")
    assert pastes.whole(f"{second} and {first}") == "y" * 2000 + " and " + "x\n" * 20
    assert pastes.spans(f"a {first}") == [(2, 2 + len(first))]


def test_clean_and_is_large() -> None:
    assert clean("a\rb\r\nc\x1b\x9b\ud83d") == "a\nb\nc\ufffd"
    assert is_large("a\u2028b"), "an editor would turn it into a line end"
    assert not is_large("a\nb")
