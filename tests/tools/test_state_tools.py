"""`plan-write` and `session_history`."""

import pytest

from nodwyn_tui.domain.events import PlanItem
from nodwyn_tui.errors import ToolError
from tests.tools.conftest import Desk


async def test_a_plan_is_noted(desk: Desk) -> None:
    items = [{"text": "look", "state": "done"}, {"text": "change \ud83d"}]
    assert (await desk.ask("plan-write", items=items)).title == "Write a plan of 2 steps"
    outcome = await desk.run("plan-write", items=items)
    assert outcome.text == "plan noted: 1 of 2 steps done"
    assert desk.ports.plan == [
        PlanItem(text="look", state="done"),
        PlanItem(text="change \ufffd", state="todo"),
    ]


@pytest.mark.parametrize("items", [[{"text": ""}], [{"text": "x" * 501}], [{"text": "x"}] * 51])
async def test_a_plan_is_bounded(desk: Desk, items: list[dict[str, str]]) -> None:
    with pytest.raises(ToolError, match="items"):
        await desk.run("plan-write", items=items)


async def test_an_item_is_read_back_by_pages(desk: Desk) -> None:
    """ROL-11: by characters, 8,000 unless told, 16,000 at most."""
    desk.ports.items["i:7"] = "0123456789" * 3000
    first = await desk.run("session_history", action="read_item", item="i:7")
    assert first.text == "[historical data]\n" + "0123456789" * 800
    assert first.lines == 2
    page = await desk.run("session_history", action="read_item", item="i:7", offset=5, limit=3)
    assert page.text == "[historical data]\n567"
    assert (await desk.ask("session_history", action="read_item", item="i:7")).subject == "i:7"
    with pytest.raises(ToolError, match="limit"):
        await desk.run("session_history", action="read_item", item="i:7", limit=16_001)


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        ({"action": "list_windows"}, "windows '' 50"),
        ({"action": "list_windows", "cursor": "c", "limit": 3}, "windows 'c' 3"),
        ({"action": "search", "query": "a b"}, "search 'a b' '' '' 10"),
        (
            {"action": "search", "query": "x", "window": "w:7", "cursor": "c", "limit": 25},
            "search 'x' 'w:7' 'c' 25",
        ),
    ],
)
async def test_history_is_listed_and_searched(
    desk: Desk, given: dict[str, object], asked: str
) -> None:
    """ROL-11: 50 windows, 10 hits unless told, 25 at most."""
    assert (await desk.run("session_history", **given)).text == asked
    assert (await desk.ask("session_history", **given)).title


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"action": "search"}, "search needs `query`"),
        ({"action": "read_item", "query": "x"}, "read_item needs `item`"),
        ({"action": "read_item", "item": "i:1", "cursor": "c"}, "takes item, limit, offset; not"),
        ({"action": "list_windows", "limit": 51}, "at most 50"),
        ({"action": "search", "query": "x", "limit": 26}, "at most 25"),
        ({"action": "search", "query": "x" * 501}, "query"),
    ],
)
async def test_history_says_what_does_not_go_together(
    desk: Desk, given: dict[str, object], told: str
) -> None:
    with pytest.raises(ToolError, match=told):
        await desk.ask("session_history", **given)
