"""What the order of a request is worth, in the lab's cache models (ORD-8, ORD-9)."""

from dataclasses import replace
from pathlib import Path

import pytest

from nodwyn_tui.domain import events as ev
from nodwyn_tui.lab.cache_models import CACHE_MODELS
from nodwyn_tui.lab.orders import ORDERS
from nodwyn_tui.lab.policies import LabPolicy
from nodwyn_tui.lab.replays import refold
from tests.lab.eight_calls import CALLS, session, steps, table

PROVIDERS_OWN = "breakpoints-implicit"
"""The cache of the provider that the order was measured with: entries at breakpoints, billed."""


def test_history_before_fresh_rows_is_read_again_and_the_old_order_never_is() -> None:
    """ORD-8: at least 88 % of the prompt before at the fourth call, and 95 % at the eighth."""
    found = [each.share for each in steps("each_request", PROVIDERS_OWN)]
    assert (found[3] or 0) >= 0.88
    assert (found[7] or 0) >= 0.95
    assert sorted(share or 0 for share in found[1:]) == [share or 0 for share in found[1:]]
    assert [each.cached for each in steps("before_run", PROVIDERS_OWN)] == [0] * CALLS


@pytest.mark.parametrize("model", CACHE_MODELS)
def test_rows_that_stay_are_read_whole_and_cost_their_own_size(model: str) -> None:
    """ORD-9: a row that stays keeps the prefix, and makes the prompt longer."""
    stays, goes = steps("on_change", model), steps("each_request", model)
    cached = [each.share or 0 for each in stays[2:]]
    assert min(cached) >= (0.93 if model == "blocks-128" else 0.999)
    assert stays[-1].prompt > goes[-1].prompt
    assert stays[0].prompt == goes[0].prompt


def test_a_local_model_loses_its_prefix_to_rows_that_go() -> None:
    """ORD-9: one slot reads up to where the rows stood, each time."""
    goes, starts = steps("each_request", "kv-slot"), steps("run_start", "kv-slot")
    assert all((each.share or 0) < 0.98 for each in goes[1:])
    assert all(each.share == pytest.approx(1, abs=0.001) for each in starts[1:])


def test_the_documented_table_is_what_is_measured() -> None:
    """ORD-8: every cache model, in the old order and in each placement."""
    documented = (Path(__file__).parents[2] / "docs" / "fresh.md").read_text()
    lines = [line for line in documented.splitlines() if line.startswith("|")]
    shown = [line for line in lines if any(f"`{model}`" in line for model in CACHE_MODELS)]
    assert shown == table()


@pytest.mark.parametrize("order", ORDERS)
def test_every_request_says_what_is_current_under_every_order_but_off(order: str) -> None:
    """ORD-8: fresh rows are present and current in every request."""
    for number, each in enumerate(refold(session(), LabPolicy(order=order))):
        recall = [e for e in each.window.entries if e.kind == "fresh" and e.label == "recall"]
        if order == "off":
            assert recall == []
        elif order != "run_start":
            assert f"As of step {number}:" in recall[-1].data.decode()


def test_auto_follows_the_provider() -> None:
    events = session(3)
    each = [each.window.request for each in refold(events, LabPolicy(order="each_request"))]
    assert [each.window.request for each in refold(events, LabPolicy(order="auto"))] == each
    local = [
        replace(event, model=replace(event.model, provider="ollama"))
        if isinstance(event, ev.LlmRequest)
        else event
        for event in events
    ]
    starts = [each.window.request for each in refold(local, LabPolicy(order="run_start"))]
    assert [each.window.request for each in refold(local, LabPolicy(order="auto"))] == starts
    assert starts != each
