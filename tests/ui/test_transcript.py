"""The conversation pane in the real app: counts, keys, mouse, selection (TUI-1, TUI-13, TUI-17)."""

from dataclasses import replace

import pytest
from textual import events
from textual.geometry import Size
from textual.keys import _character_to_key
from textual.pilot import Pilot

from nodwyn_tui.link import commands
from nodwyn_tui.link import events as up
from tests.ui.backend import CHARACTERS, OPENED, Stage, press, quiet, settled
from tests.ui.scenes import REPLY, TALK, call, conversation, entry


def many(count: int) -> list[up.Entry]:
    kinds: tuple[up.EntryKind, ...] = ("user", "assistant", "call")
    return [
        replace(entry(n, kinds[n % 3], f"entry {n}\n\nwith **text**"), tool="shell", title="shell")
        for n in range(1, count + 1)
    ]


def loaded(entries: list[up.Entry]) -> list[up.UpEvent]:
    pieces = [tuple(entries[at : at + 500]) for at in range(0, len(entries), 500)]
    return [
        OPENED,
        *(up.EntriesLoaded(entries=piece, done=piece is pieces[-1]) for piece in pieces),
    ]


def rows(stage: Stage) -> list[str]:
    """The conversation's rows, without the scroll bar."""
    return [line[:79].rstrip() for line in stage.text().split("\n")[1:12]]


async def widgets_and_layouts(count: int) -> tuple[int, int]:
    stage = Stage(*loaded(many(count)))
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        assert f"entry {count}" in stage.text()
        return len(
            list(stage.app.screen.walk_children())
        ), stage.screen.transcript.viewport.laid_out


async def test_ten_thousand_entries_mount_and_lay_out_as_much_as_ten() -> None:
    """TUI-13: what is off screen is not mounted, and not laid out."""
    few, many_ = await widgets_and_layouts(10), await widgets_and_layouts(10_000)
    assert many_[0] == few[0]
    assert many_[1] <= few[1] + 24


async def test_paging_through_lays_out_what_it_passes() -> None:
    stage = Stage(*loaded(many(10_000)))
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        view = stage.screen.transcript.viewport
        before = view.laid_out
        await press(pilot, *["pageup"] * 10)
        assert view.laid_out - before < 10 * 16
        assert not view.following
        await press(pilot, "ctrl+home")
        await settled(pilot)
        assert "nodwyn" in stage.text().split("\n")[2]
        await press(pilot, "ctrl+end")
        assert view.following


async def test_bodies_are_fetched_when_they_come_into_view() -> None:
    """A body is asked for once, and drawn when it is here."""
    bare = [replace(made, body=None, size=5_000) for made in many(100)]
    stage = Stage(*loaded(bare))
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        wanted = [i for c in stage.backend.of(commands.FetchBodies) for i in c.ids]
        assert wanted
        assert len(wanted) == len(set(wanted)) < 20
        for entry_id in wanted:
            body = up.Body(text=f"the body of {entry_id}")
            stage.backend.tell(up.BodyLoaded(id=entry_id, body=body))
        await settled(pilot)
        assert "the body of 00000099" in stage.text()
        assert "the body of 00000100" in stage.text()


async def test_a_stream_sticks_to_the_end_only_if_the_person_is_there() -> None:
    stage = Stage(*loaded(many(50)), up.RunStarted(run=1), up.RequestSent(seq=99, model="m"))
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        stage.backend.tell(*(up.ReplyPiece(kind="text", text=f"word{n}\n\n") for n in range(60)))
        await settled(pilot, 0.12)
        assert "word59" in stage.text()
        await press(pilot, "pageup")
        parked = rows(stage)
        stage.backend.tell(*(up.ReplyPiece(kind="text", text=f"more{n}\n\n") for n in range(60)))
        await settled(pilot, 0.12)
        assert rows(stage) == parked
        stage.backend.tell(
            up.EntryAdded(entry=entry(51, "assistant", "".join(f"word{n}\n\n" for n in range(60)))),
            up.ReplyEnded(seq=99),
        )
        await settled(pilot, 0.12)
        assert rows(stage) == parked, "entries take the live reply's place"


async def test_live_and_resumed_look_the_same() -> None:
    """R9: the same entries, streamed before, are the same rows."""
    resumed = Stage(*conversation())
    live = Stage(
        OPENED,
        up.RunStarted(run=1),
        *(up.EntryAdded(entry=made) for made in TALK[:2]),
        up.EntryAdded(entry=replace(TALK[2], status="running", ms=None, title="fs-search")),
        up.CallOutput(id=TALK[2].id, line="searching"),
        up.EntryChanged(entry=TALK[2]),
        *(up.EntryAdded(entry=made) for made in TALK[3:5]),
        up.RequestSent(seq=9, model="m"),
        *(up.ReplyPiece(kind="text", text=character) for character in REPLY),
        up.EntryAdded(entry=TALK[5]),
        up.ReplyEnded(seq=9),
        *conversation()[2:],
    )
    texts = []
    for stage in (resumed, live):
        async with stage.app.run_test(size=(80, 24)) as pilot:
            await settled(pilot, 0.12)
            texts.append(stage.text())
    assert texts[0] == texts[1]


async def test_enter_opens_an_entry_and_closes_it() -> None:
    edit = call(
        5, "shell", "shell make", body=up.Body(text="out\n" * 3, arguments='{"command": "make"}')
    )
    stage = Stage(*loaded([entry(4, "user", "hi"), edit]))
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await press(pilot, "tab", "down", "enter")
        await settled(pilot)
        assert "▌✓ shell make" in stage.text()
        assert '"command": "make"' in stage.text()
        await press(pilot, "enter")
        assert '"command": "make"' not in stage.text()
        await press(pilot, "up", "tab")
        assert stage.screen.prompt.has_focus


async def test_a_click_opens_an_entry() -> None:
    stage = Stage(*loaded([call(5, "shell", "shell make", text="the output")]))
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        row = next(n for n, line in enumerate(stage.text().split("\n")) if "make" in line)
        await pilot.click("#transcript", offset=(5, row - 1))
        await settled(pilot)
        assert "the output" in stage.text()


async def test_a_typed_letter_goes_to_the_prompt() -> None:
    stage = Stage(*conversation())
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await press(pilot, "tab", "up", "w", "h", "y")
        assert stage.screen.prompt.has_focus
        assert stage.screen.prompt.text == "why"


async def test_what_is_typed_in_one_burst_is_in_the_prompt_whole() -> None:
    """Blanks too, and each letter once and in its place."""
    stage = Stage(*conversation())
    text = "a b c, and so on: the quick brown fox"
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        for _ in range(5):
            await press(pilot, "tab")
            for character in text:
                stage.app.post_message(events.Key(_character_to_key(character), character))
            await settled(pilot)
            assert stage.screen.prompt.text == text
            stage.screen.prompt.set_text("")


async def test_what_was_on_its_way_behind_a_typed_letter_goes_to_the_prompt_too() -> None:
    """A message and its Enter, come in one piece over a slow line, are sent."""
    stage = Stage(*conversation())
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await press(pilot, "tab", "up")
        for key in ("h", "i", "x", "backspace", "enter"):
            stage.app.post_message(events.Key(key, CHARACTERS.get(key, key)))
        await settled(pilot)
        assert stage.backend.of(commands.Send) == [commands.Send(text="hi")]
        assert stage.screen.prompt.has_focus


async def test_a_paste_goes_to_the_prompt() -> None:
    stage = Stage(*conversation())
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await press(pilot, "tab", "up")
        stage.app.post_message(events.Paste("two\nlines"))
        await settled(pilot)
        assert stage.screen.prompt.text == "two\nlines"
        assert stage.screen.prompt.has_focus


async def drag(pilot: Pilot[object], start: tuple[int, int], end: tuple[int, int]) -> None:
    await pilot.mouse_down("#transcript", offset=start)
    await pilot.hover("#transcript", offset=end)
    await pilot.mouse_up("#transcript", offset=end)
    await settled(pilot)


async def test_selected_text_is_copied_without_wraps_and_decoration() -> None:
    """TUI-17: wrapped lines are one again; code comes without its inset."""
    text = f"{'long ' * 20}end\n\n```python\nx = [1]\n```\n"
    stage = Stage(*loaded([entry(4, "assistant", text)]))
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        pane = stage.screen.transcript
        rows = [n for n, (place, _) in enumerate(pane.rows) if place.entry == 1]
        await drag(pilot, (0, rows[0]), (60, rows[-1]))
        assert pane.selected_text() == f"{'long ' * 20}end\n\nx = [1]"
        await press(pilot, "ctrl+c")
        assert stage.app.clipboard == f"{'long ' * 20}end\n\nx = [1]"
        assert "copied 3 lines" in stage.text()
        await drag(pilot, (8, rows[0]), (11, rows[0]))
        assert pane.selected_text() == "long"[:4]
        await pilot.click("#transcript", offset=(3, 0))
        assert pane.selected_text() == ""


async def test_a_selection_grows_while_it_scrolls() -> None:
    """Textual's own does not within one widget; ours stays on its words, too."""
    stage = Stage(*loaded([entry(n, "note", f"note {n}") for n in range(1, 200)]))
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        pane = stage.screen.transcript
        await pilot.mouse_down("#transcript", offset=(3, 10))
        first = pane.rows[10][0].entry
        down = events.MouseMove(pane, 3, -1, 0, -1, 1, False, False, False)
        pane.on_mouse_move(down)
        await settled(pilot, 0.6)
        top = pane.viewport.top().entry
        assert pane.selected_text().count("note") >= first - top > 4
        pane.on_mouse_up(events.MouseUp(pane, 3, -1, 0, 0, 1, False, False, False))
        kept = pane.selected_text()
        await press(pilot, "pagedown")
        assert pane.selected_text() == kept
        assert pane._drag is None, "no timer is left running"


async def test_a_link_is_opened_only_on_the_web(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    stage = Stage(*loaded([entry(4, "assistant", "[a](https://b.c/d) and [x](ftp://e.f/g)")]))
    async with stage.app.run_test(size=(80, 24)) as pilot:
        monkeypatch.setattr(stage.app, "open_url", opened.append)
        await settled(pilot)
        row = next(n for n, (p, _) in enumerate(stage.screen.transcript.rows) if p.entry == 1) + 1
        await pilot.click("#transcript", offset=(3, row))
        await pilot.click("#transcript", offset=(25, row))
        await settled(pilot)
        assert opened == ["https://b.c/d"]
        assert "only web addresses are opened" in stage.text()


async def test_states_that_change_are_shown() -> None:
    stage = Stage(*conversation())
    async with stage.app.run_test(size=(80, 40)) as pilot:
        await settled(pilot)
        assert "elided" not in stage.text()
        stage.backend.tell(up.StatesChanged(ids=(TALK[2].id, "unknown"), state="elided"))
        await settled(pilot)
        assert "elided · 0.4 s" in stage.text()


async def test_resizing_a_hundred_times_keeps_the_place() -> None:
    """REL-3."""
    stage = Stage(*loaded(many(300)))
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await press(pilot, "pageup", "pageup")
        top = stage.screen.transcript.viewport.top()
        for n in range(100):
            size = Size(60 + n % 40, 16 + n % 20)
            stage.app.post_message(events.Resize(size, size))
            await quiet(pilot)
        await pilot.resize_terminal(80, 24)
        await settled(pilot)
        assert stage.screen.transcript.viewport.top() == top


async def test_focus_lost_and_found_draws_the_same() -> None:
    stage = Stage(*conversation())
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        before = stage.text()
        stage.app.post_message(events.AppBlur())
        await settled(pilot)
        stage.app.post_message(events.AppFocus())
        await settled(pilot)
        assert stage.text() == before
