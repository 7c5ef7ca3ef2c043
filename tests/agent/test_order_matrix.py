"""The order of every request (ORD-1 to ORD-9), in every protocol and placement, on the bytes that
strict fakes received: real sessions, in which one thing changes between each two requests.

That the same log replays to these bytes is checked behind each of these tests, as behind any other
(`every_request_replays` in tests/conftest.py).
"""

from itertools import combinations, product

import pytest

from nodwyn_tui.domain import events as ev
from tests.agent import order_rules
from tests.agent.order_sessions import CHANGES, REQUESTS, WAYS, Session, Way
from tests.agent.rig import Rig
from tests.agent.wire_units import units
from tests.fakes.anthropic_server import AnthropicServer

PLACEMENTS = ("each_request", "on_change", "run_start", "auto")


def cases() -> list[tuple[Way, str, bool, int]]:
    """Each way with each placement, and so with each change. Fresh and carried sessions, and which
    change comes where, take turns.
    """
    return [
        (way, placement, (w + p + w // 4) % 2 == 0, (2 * w + 3 * p) % len(CHANGES))
        for (w, way), (p, placement) in product(enumerate(WAYS), enumerate(PLACEMENTS))
    ]


def name_of(value: object) -> str:
    return value.name if isinstance(value, Way) else str(value)


def test_each_meets_each() -> None:
    """ORD-8: what is not tried together all at once is tried pair by pair."""
    sizes = (len(WAYS), len(PLACEMENTS), 2, len(CHANGES))
    for one, other in combinations(range(4), 2):
        pairs = {(name_of(case[one]), name_of(case[other])) for case in cases()}
        if (one, other) != (0, 3):  # each way has each change in any case
            assert len(pairs) == sizes[one] * sizes[other], (one, other)


@pytest.mark.parametrize(("way", "placement", "carried", "turn"), cases(), ids=name_of)
async def test_history_only_grows_and_fresh_rows_stand_behind_it(
    rig: Rig, way: Way, placement: str, carried: bool, turn: int
) -> None:
    """ORD-1, ORD-2, ORD-5 to ORD-9."""
    placed = way.auto if placement == "auto" else placement
    session = Session(rig, way, placement, turn)
    with way.server(session.script()) as server:
        await session.run(server, carried=carried)
    assert server.violations == []
    contents = [each.content for each in server.bodies]
    asked = [units(content) for content in contents]
    assert len(asked) == REQUESTS
    order_rules.rows_are_current(asked, session.shows, placed)
    order_rules.rows_stand_in_their_place(asked)
    order_rules.reasoning_goes_back(asked, way)
    ends = [order_rules.history(request, way, placed) for request in asked]
    order_rules.the_prefix_grows(contents, asked, ends, way)
    if way.bears:
        order_rules.marks_stand_at_markers(asked, ends, way)
        order_rules.more_is_read_each_time(server.reads, way)
    if placed == "each_request":
        order_rules.nothing_is_carried(contents, session.shows)
    elif isinstance(server, AnthropicServer):
        assert server.dropped == [[]] * REQUESTS, "what reasoning is bound to stays as it was"
    assert {each.placement for each in rig.of(ev.FreshContext)} == {placed}
    assert all(bool(e.fresh) == (placed == "each_request") for e in rig.of(ev.LlmRequest))
