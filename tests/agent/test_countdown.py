"""What the meter says comes next (TUI-3, ROL-3, ROL-14)."""

from dataclasses import replace
from typing import Any

import pytest

from nodwyn_tui.agent.countdown import next_event
from nodwyn_tui.agent.meter import Spent, measure
from nodwyn_tui.domain import events as ev
from nodwyn_tui.domain.parts import Text
from nodwyn_tui.domain.request import ToolSpec
from nodwyn_tui.domain.usage import Usage
from nodwyn_tui.window import lead_in
from nodwyn_tui.window.budget import Warn
from nodwyn_tui.window.build import UNTRIMMED
from tests.builders import TOOLS, LogBuilder

HISTORY = ToolSpec("session_history", "Looks back.", {"type": "object"})
NOTHING = Spent(cache_rate=None, cost_usd=None, unpriced=0, last=None)
CEILING = 40_000


def session(threshold: float = 0.7, **changes: Any) -> LogBuilder:
    """A session that rolls over, of 40,000 tokens."""
    limits = {"high_water": CEILING, "ceiling": CEILING, "max_result_tokens": CEILING}
    fields = {"tools": (*TOOLS, HISTORY)} | limits | changes
    log = LogBuilder(strategy="rollover", **fields)
    log.recipe = replace(log.recipe, window=replace(log.recipe.window, threshold=threshold))
    return log


def said(log: LogBuilder) -> str:
    return next_event(log.window(UNTRIMMED), log.recipe, log.budget)


def filled(log: LogBuilder, steps: int, tokens: int) -> str:
    """What is said once so many steps of so many tokens have been made."""
    if log.run == 0:
        log.user("go")
    for _ in range(steps):
        log.exchange(f"c{len(log.events)}", "x" * (4 * tokens))
    return said(log)


def test_far_from_full_the_mark_is_told() -> None:
    """ROL-14."""
    log = session()
    assert said(log) == "rolls over at 75 %"
    assert filled(log, 4, 1_000) == "rolls over at 75 %"


def test_the_warning_and_the_rollover_are_counted_down() -> None:
    """ROL-3: the person sees a countdown."""
    log = session()
    told = [filled(log, 1, 2_000)]
    while told[-1] != "warns at the next request":
        told.append(filled(log, 1, 2_000))
        assert len(told) < 40
    assert told[0] == "rolls over at 75 %"
    counted = [words for words in told if words.startswith("warns in ~")]
    assert counted[0] > counted[1] > counted[2]
    assert counted[-1] == "warns in ~1 step"
    log.add(lead_in.warning(Warn(24_500, CEILING), notes=True))
    told = [said(log)]
    while told[-1] != "rolls over at the next request":
        told.append(filled(log, 1, 2_000))
        assert len(told) < 10
    assert told[0].startswith("rolls over in ~")
    assert told[-2] == "rolls over in ~1 step"


def test_a_warning_that_will_not_fit_is_not_announced() -> None:
    """ROL-3: then the steps to the rollover are counted."""
    log = session(0.99, ceiling=8_000, high_water=8_000)
    assert filled(log, 9, 500).startswith("rolls over in ~")


@pytest.mark.parametrize("threshold", [1.0, 2.0])
def test_with_a_threshold_of_one_nothing_happens_by_itself(threshold: float) -> None:
    """ROL-10: and no mark is drawn."""
    log = session(threshold)
    assert filled(log, 12, 2_000) == "nothing by itself"
    meter = measure(log.window(UNTRIMMED), log.recipe, "", NOTHING, 0, log.budget)
    assert (meter.high, meter.low, meter.strategy) == (0, 0, "rollover")


def test_where_history_is_denied_the_window_stops() -> None:
    """ROL-11."""
    log = session(tools=TOOLS)
    assert said(log) == "stops at 75 %"
    assert filled(log, 12, 2_000) == "stops at the next request"


def test_a_model_without_tools_is_never_warned() -> None:
    """ROL-3: and so no warning is foretold."""
    log = session(tools=())
    told = [said(log)]
    while told[-1] != "stops at the next request":
        told.append(filled(log, 1, 2_000))
        assert len(told) < 40
    assert told[0] == "stops at 75 %"
    assert told[-2] == "stops in ~1 step"
    assert not any("warn" in words or "rolls" in words for words in told)


def test_the_marks_are_those_of_the_warning_and_the_rollover() -> None:
    """TUI-3: 60 % and 75 % of the ceiling, unless set."""
    log = session()
    meter = measure(log.window(UNTRIMMED), log.recipe, "", NOTHING, 0, log.budget)
    assert (meter.low, meter.high, meter.ceiling) == (24_000, 30_000, CEILING)


@pytest.mark.parametrize(("counted", "source"), [(9_000, "reported"), (40, "estimated")])
def test_the_figure_is_the_one_that_decides(counted: int, source: str) -> None:
    """TUI-16, ROL-2: of the last prompt the larger of report and estimate, and what came since."""
    log = session()
    log.user("go" * 300)
    request, _ = log.request()
    usage = Usage(prompt_tokens=counted, output_tokens=7)
    reply = log.add(
        ev.LlmResponse(req=request.seq, parts=(Text("done"),), finish="stop", usage=usage)
    )
    spent = replace(NOTHING, last=(request, reply))
    window = log.window(UNTRIMMED)
    meter = measure(window, log.recipe, "", spent, 0, log.budget)
    assert meter.used == log.budget.projection(window) == max(counted, request.estimate) + 7
    assert meter.source == source
    changed = measure(window, log.recipe, "", replace(spent, grew=False), 0, log.budget)
    assert changed.source == "estimated"


@pytest.mark.parametrize("strategy", ["trim", "compact"])
def test_what_is_not_due_yet_is_a_step_away(strategy: str) -> None:
    """TUI-3: nothing comes in no step."""
    log = LogBuilder(strategy=strategy)
    log.user("go")
    told: list[str] = []
    while not told or not told[-1].endswith("at the next request"):
        log.exchange(f"c{len(log.events)}", "x" * 600)
        told.append(next_event(log.window(UNTRIMMED), log.recipe, log.budget))
        assert len(told) < 200
    assert told[-2].endswith("in ~1 step")


def test_the_other_strategies_say_what_they_do() -> None:
    for strategy, words in (("trim", "next trim in ~"), ("compact", "next compaction in ~")):
        log = LogBuilder(strategy=strategy)
        log.user("go")
        log.exchange("a", "x" * 300)
        assert next_event(log.window(), log.recipe, log.budget).startswith(words)
