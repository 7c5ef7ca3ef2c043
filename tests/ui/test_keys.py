"""Keys that the person changed work, are shown, and take the place of the usual ones (TUI-11)."""

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from dataclasses import replace

import pytest
from textual.binding import Binding
from textual.dom import DOMNode
from textual.keys import Keys as TextualKeys

from nodwyn_tui import ui
from nodwyn_tui.domain.keys import _NAMED, BY_ID, KEYS
from nodwyn_tui.link import commands
from nodwyn_tui.link import events as up
from nodwyn_tui.ui.screens.help import Help
from nodwyn_tui.ui.widgets.keys import Keys, key_name, short_name
from tests.ui import scenes
from tests.ui.backend import OPENED, Stage, press, settled
from tests.ui.test_questions import armed

ON_THE_FRAME = frozenset(
    {"escape", "enter", "ctrl+c", "tab", "shift+tab", "up", "down", "pageup", "pagedown", "space"}
    | {"backspace", "delete", "q", "f1", "f2", "e", "ctrl+s", "ctrl+d", "ctrl+u"}
)
"""Keys of sheets and lists, which say them on their frame; they cannot be changed."""


def bindings() -> Iterator[tuple[type[DOMNode], Binding]]:
    """Every binding of a class of ours."""
    seen = set[type]()
    for module in pkgutil.walk_packages(ui.__path__, "nodwyn_tui.ui."):
        for _, kind in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
            ours = kind.__module__.startswith("nodwyn_tui.") and issubclass(kind, DOMNode)
            if ours and kind not in seen:
                seen.add(kind)
                yield from ((kind, each) for each in vars(kind).get("BINDINGS", ()))


def test_every_binding_is_in_the_table() -> None:
    """None is hard-coded, but for what sheets and lists say on their frame."""
    used = set[str]()
    for kind, each in bindings():
        if each.id is None:
            assert ON_THE_FRAME.issuperset(each.key.split(",")), (kind, each)
        else:
            key = BY_ID[each.id]
            assert (each.key, each.description) == (key.keys, key.does)
            used.add(each.id)
    assert used == {key.id for key in KEYS}


def test_textual_knows_the_names() -> None:
    known = {key.value for key in TextualKeys}
    assert known >= _NAMED - {"space"}


@pytest.mark.parametrize(
    ("key", "name", "short"),
    [
        ("ctrl+g", "Ctrl+G", "^G"),
        ("shift+tab", "Shift+Tab", "⇧Tab"),
        ("alt+enter", "Alt+Enter", "Alt+Enter"),
        ("f12", "F12", "F12"),
        ("question_mark", "?", "?"),
        ("/", "/", "/"),
        ("+", "+", "+"),
        ("A", "A", "A"),
        ("", "", ""),
    ],
)
def test_how_a_key_is_written(key: str, name: str, short: str) -> None:
    assert (key_name(key) if key else "", short_name(key)) == (name, short)


def test_no_key_has_no_name() -> None:
    keys = Keys({"palette": ""})
    assert (keys.names("palette"), keys.name("palette"), keys.short("palette")) == ((), "", "")
    assert Keys(keys.keymap).names("palette") == ()


async def test_a_changed_key_works_and_the_old_one_does_not() -> None:
    """The footer and the help show what counts."""
    changed = (("mode", "ctrl+g,f6"), ("details", ""))
    stage = Stage(replace(OPENED, keys=changed))
    async with stage.app.run_test(size=(120, 36)) as pilot:
        await settled(pilot)
        assert "^G mode" in stage.text()
        assert "Ctrl+G changes it" in stage.text()
        await press(pilot, "shift+tab")
        stage.screen.prompt.focus()
        await settled(pilot)
        assert stage.backend.of(commands.SetMode) == []
        await press(pilot, "ctrl+g", "f6")
        assert len(stage.backend.of(commands.SetMode)) == 2
        await press(pilot, "f1")
        await settled(pilot)
        assert isinstance(stage.app.screen, Help)
        rows = [row for row in stage.text().split("\n") if "mode" in row or "remark" in row]
        assert any("Ctrl+G F6" in row and "approval mode" in row for row in rows)
        assert any("—" in row and "latest remark" in row for row in rows)


async def test_an_unbound_key_does_nothing() -> None:
    stage = Stage(replace(OPENED, keys=(("mode", ""),)))
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await press(pilot, "shift+tab")
        assert stage.backend.of(commands.SetMode) == []
        assert " mode   ^P" not in stage.text()
        assert "/mode changes it" in stage.text()


async def test_enter_and_the_line_break_swap() -> None:
    """TUI-7: what breaks the line sends, and the other way round."""
    told = (("send", "ctrl+j,shift+enter"), ("line_break", "enter"))
    stage = Stage(replace(OPENED, keys=told))
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        assert "Ctrl+J send" in stage.text()
        assert "sends, Enter breaks the line" in stage.text()
        await press(pilot, "a", "enter", "b")
        assert stage.screen.prompt.whole_text == "a\nb"
        await press(pilot, "ctrl+j")
        assert [sent.text for sent in stage.backend.of(commands.Send)] == ["a\nb"]
        await press(pilot, "c", "shift+enter")
        assert [sent.text for sent in stage.backend.of(commands.Send)][1:] == ["c"]


async def test_two_bindings_may_swap_their_keys() -> None:
    stage = Stage(replace(OPENED, keys=(("undo", "ctrl+y"), ("redo", "ctrl+z"))))
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await press(pilot, "a", "ctrl+y")
        assert stage.screen.prompt.text == ""
        await press(pilot, "ctrl+z")
        assert stage.screen.prompt.text == "a"


async def test_a_question_is_answered_with_the_changed_key() -> None:
    """TUI-10: and shows it; the old one is a letter like any other."""
    stage = Stage(*scenes.approval())
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await armed(pilot)
        assert "[a]llow once" in stage.text()
        stage.backend.tell(up.KeysChanged(keys=(("allow", "g"), ("allow_session", "l"))))
        await settled(pilot)
        assert "[g] allow once" in stage.text()
        assert "g l w n answer" in stage.text()
        await press(pilot, "g")
        assert stage.backend.of(commands.Answer) == [commands.Answer(call_id="c12", allow=True)]


async def test_keys_that_change_count_at_once_and_go_back() -> None:
    stage = Stage(OPENED)
    async with stage.app.run_test(size=(120, 36)) as pilot:
        await settled(pilot)
        stage.backend.tell(up.KeysChanged(keys=(("mode", "f6"), ("send", "ctrl+j"))))
        await settled(pilot)
        assert "F6 mode" in stage.text()
        await press(pilot, "f6")
        stage.backend.tell(up.KeysChanged(keys=()))
        await settled(pilot)
        assert "⇧Tab mode" in stage.text()
        await press(pilot, "f6", "shift+tab")
        assert len(stage.backend.of(commands.SetMode)) == 2
