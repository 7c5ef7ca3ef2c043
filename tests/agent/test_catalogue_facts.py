"""PRV-11: which figure a session goes by, and where it is from."""

from typing import Any

from nodwyn_tui.link import events as up
from nodwyn_tui.providers.shipped import Record, file_text
from tests.agent.rig import Rig
from tests.fakes.chat_server import ChatServer
from tests.fakes.script import say

PRICING = {"prompt": "0.000001", "completion": "0.000002"}


def ship(rig: Rig, **figures: Any) -> None:
    """The person's refreshed data says this of the fake's model."""
    base = {"host": "127.0.0.1", "id": "test-model", "source": "a listing", "date": "2026-11-29"}
    state = rig.home / "state"
    state.mkdir()
    record = Record.model_validate({**base, **figures})
    (state / "models.json").write_text(file_text([record], "a test's"))


async def meter(rig: Rig, server: ChatServer, **model: Any) -> up.MeterChanged:
    rig.configure(server, **model)
    await rig.open()
    await rig.ask()
    return rig.told(up.MeterChanged)[-1]


async def test_the_servers_listing_comes_before_the_shipped_figure(rig: Rig) -> None:
    ship(rig, context=64_000, price={"input": 9.0, "output": 9.0})
    entry = {"context_length": 50_000, "pricing": PRICING}
    with ChatServer([say("hi")], entry=entry) as server:
        told = await meter(rig, server)
    assert (told.context, told.context_from) == (50_000, "/models context_length")
    assert told.cost_usd is not None
    assert told.cost_usd < 0.01


async def test_the_shipped_figure_stands_where_the_listing_says_nothing(rig: Rig) -> None:
    ship(rig, context=64_000, max_output=2_000, price={"input": 1000.0, "output": 1000.0})
    with ChatServer([say("hi")], entry={"owned_by": "somebody"}) as server:
        told = await meter(rig, server)
    assert (told.context, told.context_from) == (64_000, "a listing (2026-11-29)")
    assert told.ceiling == 64_000 - 2_000
    assert told.cost_usd is not None
    assert told.cost_usd > 0.1


async def test_the_persons_entry_comes_first(rig: Rig) -> None:
    ship(rig, context=64_000, price={"input": 1000.0, "output": 1000.0})
    price = {"input": 0.0, "output": 0.0}
    with ChatServer([say("hi")], entry={"context_length": 50_000}) as server:
        told = await meter(rig, server, context=40_000, price=price)
    assert (told.context, told.context_from, told.cost_usd) == (40_000, "config.toml", 0.0)
