"""The tool `memory`: what goes together, and what each call asks (ORD-10)."""

import pytest

from nodwyn_tui.errors import ToolError
from tests.tools.conftest import Desk


async def test_an_item_is_shown_then_kept_once(desk: Desk) -> None:
    """ORD-10: what is added stands in the question."""
    fact = {"action": "add", "file": "facts", "text": "it builds with Node 20"}
    ask = await desk.ask("memory", **fact)
    assert (ask.title, ask.subject, ask.effect) == ("Add to facts", "facts", "write")
    assert ask.diff.endswith("+- 2026-11-30 it builds with Node 20")
    assert ask.touches == (".nodwyn/memory/facts.md",)
    assert (await desk.run("memory", agree=True, **fact)).text == "added to facts"
    again = await desk.ask("memory", **fact)
    assert (again.effect, again.diff) == ("read", "")
    told = (await desk.run("memory", agree=True, **fact)).text
    assert told == "facts holds exactly that already"
    read = await desk.run("memory", action="read", file="facts")
    assert read.text == "- 2026-11-30 it builds with Node 20"


async def test_nothing_is_added_that_was_not_shown(desk: Desk) -> None:
    """AGT-8: without the question's own line there is no addition."""
    await desk.run("memory", action="add", file="facts", text="unseen")
    assert desk.ports.memory.files == {}


async def test_notes_are_the_models_own(desk: Desk) -> None:
    for action in ("add", "write"):
        ask = await desk.ask("memory", action=action, file="context-notes", text="a")
        assert ask.effect == "note"
    await desk.run("memory", action="write", file="context-notes", text="a\nb\n")
    assert desk.ports.memory.files == {"context-notes": ["a\nb\n"]}
    ask = await desk.ask("memory", action="read", file="context-notes")
    assert ask.effect == "read"
    nothing = await desk.run("memory", action="read", file="corrections")
    assert nothing.text == "nothing is remembered in corrections yet"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"action": "read", "file": "facts", "text": "x"}, "read takes no `text`"),
        ({"action": "add", "file": "facts"}, "add needs `text`"),
        ({"action": "write", "file": "context-notes"}, "write needs `text`"),
        ({"action": "write", "file": "facts", "text": "x"}, "added to, an item at a time"),
        ({"action": "read", "file": "secrets"}, "file: "),
        ({"action": "read", "file": "../x"}, "file: "),
        ({"action": "forget", "file": "facts"}, "action: "),
    ],
)
async def test_what_does_not_go_together_is_told(
    desk: Desk, given: dict[str, object], told: str
) -> None:
    with pytest.raises(ToolError, match=told):
        await desk.ask("memory", **given)
