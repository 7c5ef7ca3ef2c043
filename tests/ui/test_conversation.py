"""The main screen: states, keys and commands (TUI-8), on the real app with a scripted worker."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from nodwyn_tui.link import commands
from nodwyn_tui.link import events as up
from nodwyn_tui.ui.commands import Invocation
from nodwyn_tui.ui.messages import Outcome
from nodwyn_tui.ui.widgets.transcript import GUARD_S
from tests.ui import scenes
from tests.ui.backend import OPENED, Stage, press, settled

FILES = Path(__file__).parents[1] / "cases" / "files"


async def test_without_a_model_it_says_what_to_do_and_offers_the_tour() -> None:
    stage = Stage(*scenes.no_model())
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        text = stage.text()
        assert "No model is set up yet" in text
        assert "Start Ollama and pull a model" in text
        assert "config.toml:12: models.fast: unknown server" in text
        assert "no model" in text.split("\n")[0]
        await press(pilot, "h", "i", "enter")
        await settled(pilot)
        assert stage.backend.of(commands.Send) == []
        assert stage.screen.prompt.text == "hi", "what cannot be sent is kept"
        assert "/setup picks one" in stage.text()
        await press(pilot, "ctrl+t")
        assert stage.backend.told[-1] == commands.StartTour()


async def test_the_tour_is_offered_nowhere_else() -> None:
    stage = Stage(OPENED)
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await press(pilot, "ctrl+t", *"/t", "enter")
        await settled(pilot)
        assert commands.StartTour() not in stage.backend.told
        assert "there is no command /t" in stage.text()


async def test_problems_of_a_session_that_goes_on_are_told_too() -> None:
    problems = (up.Problem(text="config.toml:3: mode: [bold] is none"),)
    opened = replace(OPENED, problems=problems)
    stage = Stage(opened, up.EntriesLoaded(entries=scenes.TALK, done=True))
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        assert "1 problem in the configuration" in stage.text()
        await press(pilot, "f2")
        await settled(pilot)
        assert "config.toml:3: mode: [bold] is none" in stage.text()
        await press(pilot, "escape")
        assert stage.app.screen is stage.screen


async def test_a_new_session_is_read_from_its_top() -> None:
    """TUI-6: what to do first stands there, and is seen on a low screen too."""
    opened, *_ = scenes.no_model()
    stage = Stage(opened, up.EntriesLoaded(entries=(), done=True))
    async with stage.app.run_test(size=(60, 16)) as pilot:
        await settled(pilot)
        assert "nodwyn" in stage.text().split("\n")[2]
        await press(pilot, "pagedown")
        assert "Start Ollama" in stage.text()


async def test_a_read_only_session_says_who_writes_it() -> None:
    stage = Stage(replace(OPENED, read_only=True, holder_pid=4711))
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        assert "READ ONLY  process 4711 writes this session" in stage.text()
        assert "/new" in stage.text()
        assert "tour" not in stage.text(), "a model may well be set up"
        await press(pilot, "h", "i", "enter")
        assert stage.backend.of(commands.Send) == []
        assert stage.screen.prompt.text == "hi"


async def test_unsaved_events_are_shown_as_long_as_there_are_any() -> None:
    """C68: at once and all the time, not as an error that passes."""
    stage = Stage(*scenes.unsaved())
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        assert "NOT SAVED  12 events held in memory: No space left" in stage.text()
        await press(pilot, "escape", *"text", "f1", "escape")
        stage.clock.seconds += 3600
        await settled(pilot)
        assert "NOT SAVED" in stage.text()
        stage.backend.tell(up.Unsaved(count=0))
        await settled(pilot)
        assert "NOT SAVED" not in stage.text()


async def test_a_run_shows_what_goes_on_and_is_still_afterwards() -> None:
    """PERF-8: no timer runs while nothing does."""
    stage = Stage(OPENED)
    async with stage.app.run_test(size=(80, 24)) as pilot:
        tell, timer = stage.backend.tell, stage.screen.activity._timer
        await settled(pilot)
        assert timer is not None
        assert not timer._active.is_set()
        tell(up.RunStarted(run=1), up.RequestSent(seq=5, model="[qwen]"))
        await settled(pilot)
        stage.clock.seconds += 12
        await settled(pilot)
        assert timer._active.is_set()
        assert "waits for [qwen] · 12 s · Esc stops" in stage.text()
        for event, words in (
            (up.ReplyPiece(kind="thinking", text="x"), "thinks"),
            (up.ReplyPiece(kind="text", text="x"), "writes"),
            (up.CallPiece(index=0, name="fs-edit", chars=90), "writes a call of fs-edit"),
            (
                up.RetryWaiting(seconds=9, reason="busy", attempt=1),
                "asks again (try 2): busy, in 9",
            ),
        ):
            tell(event)
            await settled(pilot)
            assert words in stage.text()
        tell(up.Queued(texts=("later [b]", "and then")))
        await settled(pilot)
        assert "next later [b]" in stage.text()
        tell(up.ReplyEnded(seq=5), up.Queued(texts=()))
        tell(up.RunEnded(why="done", requests=2, changed_files=("a", "b")))
        await settled(pilot)
        assert "done in 12 s · 2 requests · 2 files changed" in stage.text()
        assert not timer._active.is_set()


async def test_an_idle_screen_has_nothing_scheduled() -> None:
    """PERF-8: no timer, no polling, with a conversation on the screen."""
    stage = Stage(*scenes.conversation())
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await press(pilot, "x", "backspace")
        await asyncio.sleep(0.6)
        scheduled = [h for h in asyncio.get_running_loop()._scheduled if not h.cancelled()]
        assert scheduled == []


async def test_escape_stops_a_run_and_nothing_else() -> None:
    """AGT-3."""
    stage = Stage(OPENED)
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await press(pilot, "escape")
        assert stage.backend.of(commands.Interrupt) == []
        stage.backend.tell(up.RunStarted(run=1))
        await settled(pilot)
        await press(pilot, "escape")
        assert stage.backend.of(commands.Interrupt) == [commands.Interrupt()]
        await press(pilot, "tab", "escape")
        assert len(stage.backend.of(commands.Interrupt)) == 2


async def test_a_run_that_failed_says_why_and_what_to_do() -> None:
    stage = Stage(OPENED, up.RunStarted(run=1))
    async with stage.app.run_test(size=(80, 24)) as pilot:
        stage.backend.tell(
            up.RunEnded(why="error", message="ollama: [/x] refused", remedy="start it: [b]x")
        )
        await settled(pilot)
        assert "✗ ollama: [/x] refused  F2 shows more" in stage.text()
        await press(pilot, "f2")
        await settled(pilot)
        assert "start it: [b]x" in stage.text()


async def test_a_failure_that_stands_in_the_conversation_is_not_told_twice() -> None:
    """TUI-12: once, where it happened; beside it only for who reads elsewhere."""
    told = up.RunEnded(why="error", message="ollama: refused", remedy="start it", told=True)
    failed = scenes.entry(900, "error", "transport: refused\nstart it")
    many = tuple(scenes.entry(n, "note", f"note {n}") for n in range(1, 60))
    stage = Stage(OPENED, up.EntriesLoaded(entries=many, done=True), up.RunStarted(run=1))
    async with stage.app.run_test(size=(80, 24)) as pilot:
        stage.backend.tell(up.EntryAdded(entry=failed), told)
        await settled(pilot)
        assert stage.text().count("refused") == 1
        assert "start it" in stage.text()
        await press(pilot, "pageup", "pageup")
        stage.backend.tell(up.RunStarted(run=2), told)
        await settled(pilot)
        assert "✗ ollama: refused" in stage.text()


async def test_a_message_that_was_not_sent_stands_in_the_prompt_again() -> None:
    stage = Stage(OPENED)
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        stage.backend.tell(up.NotSent(text="my words", reason="no space: free some"))
        await settled(pilot)
        assert stage.screen.prompt.text == "my words"
        assert "no space: free some" in stage.text()


async def test_modes_are_cycled_and_a_refused_one_is_passed_over() -> None:
    """AGT-8: where no sandbox works, auto is refused, and the next press goes on to plan."""
    stage = Stage(replace(OPENED, mode="edits", sandboxed=False))

    def answer(command: commands.Command) -> list[up.UpEvent]:
        assert isinstance(command, commands.SetMode)
        if command.mode == "auto":
            return [up.ModeChanged(mode="edits", refused="auto needs a sandbox: install [bwrap]")]
        return [up.ModeChanged(mode=command.mode)]

    stage.backend.answers[commands.SetMode] = answer
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        assert "edits  unsandboxed" in stage.text().split("\n")[0]
        await press(pilot, "shift+tab")
        await settled(pilot)
        assert "auto needs a sandbox: install [bwrap]" in stage.text()
        await press(pilot, "shift+tab")
        await settled(pilot)
        assert [c.mode for c in stage.backend.of(commands.SetMode)] == ["auto", "plan"]
        assert "plan  unsandboxed" in stage.text().split("\n")[0]


async def test_control_c_twice_leaves_and_once_does_not() -> None:
    """AGT-3: the session is closed in order, its draft saved."""
    stage = Stage(OPENED)
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await press(pilot, "d", "ctrl+c")
        await settled(pilot)
        assert "Ctrl+C again leaves" in stage.text()
        assert stage.backend.of(commands.Close) == []
        await press(pilot, "ctrl+c")
        await settled(pilot)
    assert stage.app.return_value == Outcome(session=OPENED.session)
    assert stage.backend.told[-2:] == [commands.SaveDraft(text="d"), commands.Close()]


async def test_a_tour_is_not_offered_to_be_resumed() -> None:
    """C68: no offer to resume what will not be there."""
    stage = Stage(replace(OPENED, tour=True), up.EntriesLoaded(entries=scenes.TALK, done=True))
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        assert "tour" in stage.text().split("\n")[0]
        await press(pilot, "ctrl+c", "ctrl+c")
        await settled(pilot)
    assert stage.app.return_value == Outcome()


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("/clear", commands.ClearWindow()),
        ("/new", commands.NewSession()),
        ("/continue", commands.Continue()),
        ("/model cloud", commands.SwitchModel(model="cloud")),
        ("/mode plan", commands.SetMode(mode="plan")),
    ],
)
async def test_commands_go_down_the_link(line: str, command: commands.Command) -> None:
    stage = Stage(OPENED)
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await press(pilot, *line, "enter")
        assert command in stage.backend.told


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("/nothing", "there is no command /nothing; /help lists them all"),
        ("/mode", "/mode needs MODE"),
        ("/mode fast", "there is no mode fast; there are plan, ask, edits, auto"),
        ("/clear all", "/clear stands alone"),
        ("/copy", "there is no reply to copy yet"),
        ("/[b", "there is no command /[b"),
    ],
)
async def test_a_wrong_command_says_what_is_right(line: str, words: str) -> None:
    stage = Stage(OPENED)
    async with stage.app.run_test(size=(90, 24)) as pilot:
        await settled(pilot)
        await press(pilot, *line.replace(" ", " "), "enter")
        await settled(pilot)
        assert words in stage.text()
        assert stage.backend.of(commands.Send) == []


async def test_the_model_picker_lists_filters_and_switches() -> None:
    stage = Stage(OPENED)
    stage.backend.answers[commands.ListModels] = lambda _: [scenes.MODELS]
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await press(pilot, *"/model", "enter")
        await settled(pilot)
        text = stage.text()
        assert "ollama/[bold]odd[/]:x" in text
        assert "! groq: no key" in text
        await press(pilot, *"gemma", "enter")
        await settled(pilot)
        assert stage.backend.told[-1] == commands.SwitchModel(model="ollama/gemma3:27b")
        stage.backend.tell(
            up.ModelChanged(
                model="gemma3:27b", server="ollama", provider="ollama", strategy="compact"
            )
        )
        await settled(pilot)
        assert "gemma3:27b" in stage.text().split("\n")[0]
        assert stage.text().split("\n")[0].endswith("compact")
        assert "gemma3:27b answers from the next request on" in stage.text()


async def test_another_strategy_of_the_same_model_is_told_and_shown() -> None:
    """ROL-14: the header has what happens when the window fills."""
    stage = Stage(OPENED)
    changed = up.ModelChanged(
        model=OPENED.model, server="ollama", provider="ollama", strategy="rollover"
    )
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        stage.backend.tell(changed)
        await settled(pilot)
        assert stage.text().split("\n")[0].endswith("rollover")
        assert "a full window means rollover from the next request on" in stage.text()
        stage.backend.tell(changed)
        await settled(pilot)
        assert "the new settings of qwen3-coder:30b count from the next request" in stage.text()


async def test_the_list_of_commands_runs_what_is_picked() -> None:
    stage = Stage(OPENED)
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await press(pilot, "ctrl+p", *"window", "enter")
        await settled(pilot)
        assert stage.backend.told[-1] == commands.ClearWindow()
        await press(pilot, "ctrl+p", *"unasked", "enter")
        await settled(pilot)
        assert stage.screen.prompt.text == "/mode "
        await press(pilot, "ctrl+p", "escape")
        assert stage.app.screen is stage.screen


async def test_help_lists_every_key_that_is_bound_and_every_command() -> None:
    stage = Stage(OPENED)
    async with stage.app.run_test(size=(100, 150)) as pilot:
        await settled(pilot)
        await press(pilot, *"/help", "enter")
        await settled(pilot)
        text = stage.text()
        for words in (
            "Shift+Tab",
            "Ctrl+C",
            "Ctrl+J",
            "F3",
            "Ctrl+Z",
            "Ctrl+W Alt+Backspace",
            "Ctrl+←",
            "Del ",
            "reported",
            "/clear",
            "/model [NAME]",
            "elided",
        ):
            assert words in text
        assert "/tour" not in text, "only what works here is listed"
        assert "this turn" in text


async def test_help_tells_every_mark_of_a_call_apart() -> None:
    stage = Stage(OPENED)
    async with stage.app.run_test(size=(100, 150)) as pilot:
        await settled(pilot)
        await press(pilot, "f1")
        await settled(pilot)
        rows = [row.split() for row in stage.text().split("\n")]
        words = {
            row[1]: " ".join(row[2:-1]) for row in rows if len(row) > 3 and row[1] in "○●◐✓✗⊘■"
        }
    assert words["✓"] == "done"
    assert len(words) == len(set(words.values())) == 7


@pytest.mark.parametrize("opened_by", ["f1", "ctrl+p", "f2"])
async def test_ctrl_c_puts_away_what_lies_over_the_conversation(opened_by: str) -> None:
    """The key that the footer names does something wherever it is pressed."""
    stage = Stage(OPENED)
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        stage.screen.tell("warning", "a remark", "more of it")
        await press(pilot, opened_by)
        assert stage.app.screen is not stage.screen
        await press(pilot, "ctrl+c")
        assert stage.app.screen is stage.screen
        assert stage.backend.of(commands.Close) == []


async def test_a_remark_is_not_said_twice_and_a_cut_one_can_be_opened() -> None:
    stage = Stage(OPENED)
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        stage.screen.tell("error", "it failed. Check the key", "Check the key")
        await settled(pilot)
        assert "F2" not in stage.text()
        await press(pilot, "f2")
        await settled(pilot)
        assert stage.text().count("Check the key") == 1
        await press(pilot, "escape")
        stage.screen.tell("error", "words " * 60 + "its end")
        await settled(pilot)
        assert "…  F2 shows more" in stage.text()
        await press(pilot, "f2")
        await settled(pilot)
        assert "its end" in stage.text()


@pytest.mark.parametrize("command", ["/continue", "/clear", "/compact", "/new"])
async def test_a_remark_goes_when_the_person_goes_on(command: str) -> None:
    """One that says `/continue` would stand there while it is done."""
    stage = Stage(OPENED, up.Notice(level="warning", text="stopped, /continue goes on"))
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        assert "stopped" in stage.text()
        await press(pilot, *command, "enter")
        await settled(pilot)
        assert "stopped" not in stage.text()


async def test_another_session_gets_the_draft_as_it_stands() -> None:
    """The command's own beginnings, told as a draft while it was typed, do not come back."""
    stage = Stage(OPENED)
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await press(pilot, *"/ne")
        stage.screen.prompt.flush_draft()
        await press(pilot, "w", "enter")
        await settled(pilot)
        drafts = (commands.SaveDraft, commands.NewSession)
        assert [c for c in stage.backend.told if isinstance(c, drafts)] == [
            commands.SaveDraft(text="/ne"),
            commands.SaveDraft(text=""),
            commands.NewSession(),
        ]


async def test_what_waits_after_a_stop_is_explained() -> None:
    """AGT-4: it goes before the next message, and says so."""
    stage = Stage(OPENED)
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        stage.backend.tell(up.RunStarted(run=1), up.Queued(texts=("then this",)))
        await settled(pilot)
        assert "next then this" in stage.text()
        assert "your next message" not in stage.text()
        stage.backend.tell(up.RunEnded(why="interrupted"))
        await settled(pilot)
        assert "next then this  goes with your next message · ↑ edits it" in stage.text()


async def test_of_many_that_wait_the_first_and_the_last_are_seen() -> None:
    """AGT-4: the last one is what ↑ takes back."""
    stage = Stage(OPENED)
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        stage.backend.tell(up.RunStarted(run=1), up.Queued(texts=("one", "two", "three")))
        await settled(pilot)
        assert [row.strip() for row in stage.text().split("\n")[14:17]] == [
            "next one",
            "two",
            "three  ↑ edits it",
        ]
        stage.backend.tell(up.Queued(texts=("one", "two", "three", "four", "five")))
        await settled(pilot)
        assert [row.strip() for row in stage.text().split("\n")[14:17]] == [
            "next one",
            "… 3 more",
            "five  ↑ edits it",
        ]


async def test_help_scrolls_and_goes() -> None:
    stage = Stage(OPENED)
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await press(pilot, "f1")
        await settled(pilot)
        first = stage.text()
        await press(pilot, "down")
        assert stage.text().split("\n")[4][5:70] == first.split("\n")[5][5:70]
        await press(pilot, "end")
        assert "the most that a request may hold" in stage.text()
        await press(pilot, "home", "pagedown", "pageup")
        assert stage.text() == first
        await press(pilot, "q")
        assert stage.app.screen is stage.screen


async def test_a_dead_worker_is_replaced_and_nothing_written_is_lost() -> None:
    """TUI-12: the draft stays; what was sent and not confirmed is in the prompt again."""
    stage = Stage(OPENED, up.EntriesLoaded(entries=scenes.TALK, done=True), workers=1)
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await press(pilot, *"lost", "enter", *"draft")
        stage.backend.die()
        await settled(pilot)
        assert "WORKER" in stage.text()
        assert stage.screen.prompt.text == "lost\n\ndraft"
        second = stage.backends[1]
        [again] = second.of(commands.Open)
        assert again.resume == OPENED.session
        second.tell(OPENED, up.EntriesLoaded(entries=scenes.TALK, done=True))
        await settled(pilot)
        assert "WORKER" not in stage.text()
        assert "the worker failed and was started again" in stage.text()
        assert "/continue" not in stage.text(), "nothing went on that could"
        assert stage.screen.prompt.text == "lost\n\ndraft"
        await press(pilot, "enter")
        assert second.of(commands.Send) == [commands.Send(text="lost\n\ndraft")]


async def test_what_a_dead_worker_was_doing_can_be_gone_on_with() -> None:
    """TUI-12: the person is told so, in words that stay."""
    stage = Stage(OPENED, up.EntriesLoaded(entries=scenes.TALK, done=True), workers=1)
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        stage.backend.tell(up.RunStarted(run=2))
        await settled(pilot)
        stage.backend.die()
        await settled(pilot)
        stage.backends[1].tell(OPENED, up.EntriesLoaded(entries=scenes.TALK, done=True))
        await settled(pilot)
        assert "is stopped, /continue goes on with it" in " ".join(stage.text().split())


async def test_a_worker_that_keeps_dying_is_given_up_until_asked_for() -> None:
    """At most three times a minute; a session without a line on disk is opened anew."""
    stage = Stage(OPENED, workers=4)
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await press(pilot, "d")
        for backend in stage.backends[:4]:
            backend.die()
            await settled(pilot)
        assert [len(b.of(commands.Open)) for b in stage.backends] == [0, 1, 1, 1, 0]
        assert stage.backends[1].of(commands.Open)[0].resume == ""
        assert "Enter tries again" in stage.text()
        assert stage.screen.prompt.text == "d"
        await press(pilot, "enter")
        await settled(pilot)
        assert len(stage.backends[4].of(commands.Open)) == 1
        assert stage.screen.prompt.text == "d"


async def test_a_minute_later_it_may_die_again() -> None:
    stage = Stage(OPENED, workers=4)
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        for backend in stage.backends[:4]:
            backend.die()
            await settled(pilot)
            stage.clock.seconds += 21
        assert len(stage.backends[4].of(commands.Open)) == 1


async def test_a_session_that_cannot_be_opened_ends_with_its_reason() -> None:
    stage = Stage(up.Failed(message="no session [x]", exit_code=2))
    async with stage.app.run_test() as pilot:
        await settled(pilot)
    assert stage.app.return_value == Outcome(exit_code=2, message="no session [x]")


async def test_a_worker_that_cannot_go_on_leaves_the_story_on_the_screen() -> None:
    stage = Stage(*scenes.conversation())
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        stage.backend.tell(up.Failed(message="the log is gone", exit_code=1))
        await settled(pilot)
        assert "WORKER  the log is gone" in stage.text()
        assert "the docs" in stage.text()


@pytest.mark.parametrize("size", [(30, 24), (39, 12), (80, 9), (1, 1), (3, 2)])
async def test_a_tiny_terminal_is_told_so(size: tuple[int, int]) -> None:
    """TUI-11: plainly, and the draft is kept until there is room again."""
    stage = Stage(*scenes.conversation())
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await press(pilot, *"kept")
        await pilot.resize_terminal(*size)
        await settled(pilot)
        if size[0] > 10:
            assert "The terminal is" in stage.text()
        await pilot.resize_terminal(60, 16)
        await settled(pilot)
        assert "kept" in stage.text()
        assert "31.2k of 66k" in stage.text()
        await press(pilot, *" on")
        assert stage.screen.prompt.text == "kept on", "the prompt has the keyboard again"


async def test_a_question_has_the_keyboard_again_after_a_tiny_terminal() -> None:
    """TUI-11: what could be answered before can be answered after."""
    stage = Stage(*scenes.approval())
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.pause(GUARD_S)
        assert stage.screen.transcript.has_focus
        await pilot.resize_terminal(30, 9)
        await settled(pilot)
        await press(pilot, "a")
        assert stage.backend.of(commands.Answer) == [], "what is not seen is not answered"
        await pilot.resize_terminal(80, 24)
        await settled(pilot)
        await press(pilot, "a")
        assert len(stage.backend.of(commands.Answer)) == 1


async def test_another_session_begins_with_a_clean_picture() -> None:
    stage = Stage(*scenes.unsaved())
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        stage.backend.tell(replace(OPENED, session="other", workspace="/else"))
        await settled(pilot)
        text = stage.text()
        for old in ("NOT SAVED", "the docs", "31.2k", "And add a test"):
            assert old not in text
        assert "/else" in text


async def test_the_theme_comes_up_the_link() -> None:
    stage = Stage(replace(OPENED, theme="nodwyn-light"))
    async with stage.app.run_test() as pilot:
        await settled(pilot)
        assert stage.app.theme == "nodwyn-light"
        stage.backend.tell(replace(OPENED, theme="no-such-theme"))
        await settled(pilot)
        assert stage.app.theme == "nodwyn-light"


async def test_no_color_leaves_no_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    """TUI-11: NO_COLOR is honoured by what bypasses Textual's own painting, too."""
    monkeypatch.setenv("NO_COLOR", "1")
    stage = Stage(*scenes.approval(), no_color=True)
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        for strip in stage.screen.transcript.render_lines(stage.screen.transcript.size.region):
            for segment in strip:
                assert segment.style is None or (
                    segment.style.color is None or segment.style.color.is_default
                )


CODES = "\x1b]0;t\x07\x1b[2Jx\x9b31m\ud83d"


def everywhere(text: str) -> list[up.UpEvent]:
    """A session in which every place that shows text from outside shows this one."""
    made = scenes.call(5, text, text, "waiting", text=text)
    return [
        replace(
            OPENED,
            workspace=f"/{text}",
            branch=text,
            model=text,
            server=text,
            problems=(up.Problem(text=text),),
            history=(text,),
        ),
        up.EntriesLoaded(entries=(scenes.entry(4, "user", text, title=text),), done=True),
        replace(scenes.METER, next_event=text, context_from=text),
        up.RunStarted(run=1),
        up.RequestSent(seq=5, model=text),
        *(up.ReplyPiece(kind="text", text=character) for character in text),
        up.CallPiece(index=0, name=text, chars=1),
        up.EntryAdded(entry=made),
        up.CallOutput(id=made.id, line=text),
        up.ApprovalAsked(
            call_id="c5",
            entry_id=made.id,
            tool=text,
            title=text,
            command=text,
            diff=f"+{text}",
            touches=(text,),
            pattern=text,
            warning=text,
        ),
        up.Queued(texts=(text,)),
        up.Unsaved(count=1, why=text),
        up.ModeChanged(mode="ask", refused=text),
        up.RetryWaiting(seconds=1, reason=text, attempt=1),
        up.Notice(level="error", text=text, detail=text),
    ]


TEXTS = [*(FILES / "C56_lines.txt").read_text().splitlines(), CODES]


def assert_inert(rows: str, *texts: str) -> None:
    """Nothing in these rows steers a terminal, and each text stands in them as it is."""
    rows.encode()
    assert [c for c in rows if (ord(c) < 32 and c != "\n") or 0x7F <= ord(c) < 0xA0] == []
    for text in texts:
        assert text in rows or not text.isprintable(), text


async def test_text_from_outside_is_text_everywhere() -> None:
    """C56, C57, C58: in every place that shows it, live and at rest; nothing ends the program."""
    stage = Stage()
    async with stage.app.run_test(size=(120, 44)) as pilot:
        for text in TEXTS:
            stage.backend.tell(*everywhere(text))
            await settled(pilot, 0.08)
            assert_inert(stage.text(), text)
            assert stage.text().count(text) >= 6 or not text.isprintable(), text
            stage.backend.tell(up.ReplyEnded(seq=5), up.ApprovalClosed(call_id="c5"))
            stage.backend.tell(up.RunEnded(why="error", message=text, remedy=text))
            await settled(pilot)
            assert_inert(stage.text(), text)


async def test_text_from_outside_is_text_over_the_conversation_too() -> None:
    """C56: in the details of a remark, and in names to pick from."""
    stage = Stage(OPENED, up.Notice(level="error", text="all", detail="\n".join(TEXTS)))
    stage.backend.answers[commands.ListModels] = lambda _: [
        up.ModelsListed(
            models=tuple(up.ModelChoice(name=text, detail=text) for text in TEXTS),
            failures=tuple(TEXTS),
        )
    ]
    async with stage.app.run_test(size=(120, 90)) as pilot:
        await settled(pilot)
        await press(pilot, "f2")
        await settled(pilot)
        assert_inert(stage.text(), *TEXTS)
        await press(pilot, "escape")
        stage.screen.invoke(Invocation("model"))
        await settled(pilot)
        assert_inert(stage.text(), *TEXTS)
