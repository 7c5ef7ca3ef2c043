"""What is known of a whole session, and that its state is all of it (ENG-7)."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodwyn_tui.agent.ledger import Ledger, Ledgers
from nodwyn_tui.domain import events as ev
from nodwyn_tui.domain.usage import Usage
from tests.builders import MODEL, LogBuilder
from tests.generated import EACH_REQUEST, STEPS, Step, played


def ledger(*events: ev.Event) -> Ledger:
    made = Ledger()
    for event in events:
        made.feed(event)
    return made


@given(STEPS, st.integers(0, 200))
@EACH_REQUEST
def test_goes_on_from_its_state_as_if_it_had_read_all(steps: list[Step], at: int) -> None:
    events = played(steps).events
    whole = ledger(*events)
    part = Ledger.of(json.loads(json.dumps(ledger(*events[:at]).state())))
    for event in events[at:]:
        part.feed(event)
    assert part.state() == whole.state()
    assert part.start == whole.start


NOWHERE = {"resets": True, "open": [], "recipes": [], "inner": [], "has_summary": False}


@pytest.mark.parametrize(
    "state",
    [
        None,
        {},
        [],
        {"facts": {}},
        {"facts": {"runs": "x"}, "tracker": {}},
        {"facts": {}, "tracker": NOWHERE},
    ],
)
def test_what_is_no_state_is_refused(state: object) -> None:
    with pytest.raises(ValueError, match=r"state|facts"):
        Ledgers().of(state)  # type: ignore[arg-type]


def test_totals_are_of_all_replies() -> None:
    """ENG-29: a rate is over the replies that report both figures."""
    log = LogBuilder()
    log.user("go")
    for usage in (
        Usage(prompt_tokens=100, cached_tokens=0, cost_usd=0.5),
        Usage(prompt_tokens=300, cached_tokens=300),
        Usage(prompt_tokens=50),
    ):
        log.add(ev.LlmResponse(req=0, parts=(), finish="stop", usage=usage))
    totals = ledger(*log.events).facts.totals
    assert (totals.replies, totals.prompt_tokens, totals.cached_tokens) == (3, 450, 300)
    assert (totals.cache_rate, totals.cost_usd, totals.unpriced) == (0.75, 0.5, 2)


def test_messages_wait_until_they_are_sent_or_taken_back() -> None:
    log = LogBuilder()
    for text in ("one", "two", "three"):
        log.add(ev.UserQueued(text=text))
    log.add(ev.UserQueued(text="two", dropped=True))
    log.add(ev.UserMessage(text="one\n\nand more"))
    assert ledger(*log.events).facts.waiting == ["three"]


def test_a_run_is_open_from_its_message_to_its_end() -> None:
    log = LogBuilder()
    asked = log.add(ev.UserMessage(text="go"))
    assert (ledger(*log.events).facts.run_open, ledger(*log.events).facts.run_start) == (
        True,
        asked.seq,
    )
    log.add(ev.RunEnd(why="done"))
    assert not ledger(*log.events).facts.run_open


def test_the_model_asked_last_is_no_sub_agents() -> None:
    """A resume goes on with the model that the conversation asked."""
    log = LogBuilder()
    request = ev.LlmRequest(model=MODEL, parameters=ev.Parameters(), digest="", estimate=1)
    log.add(request)
    other = ev.ModelRef(name="small", server="s", provider="ollama", id="x", origin="elsewhere")
    log.add(
        ev.LlmRequest(
            purpose="subagent", ctx=100, model=other, parameters=ev.Parameters(), digest="",
            estimate=1,
        )
    )  # fmt: skip
    assert ledger(*log.events).facts.last_model == MODEL.name


def test_what_was_learned_of_a_server_outlasts_the_window() -> None:
    """PRV-7, ENG-21, ENG-28: how it counts, its template, how many requests a run makes."""
    log = LogBuilder()
    for run, counted in enumerate((300, 100, None), 1):
        log.add(ev.UserMessage(text="go", run=run))
        for _ in range(run):
            request, _ = log.request()
            log.events[-1] = replace(request, estimate=200, run=run)
            log.add(
                ev.LlmResponse(
                    req=request.seq, parts=(), finish="stop", usage=Usage(prompt_tokens=counted)
                )
            )
    log.add(ev.Note(text="its template leaves thinking out", why="template"))
    log.clear()
    facts = Ledger.of(json.loads(json.dumps(ledger(*log.events).state()))).facts
    assert facts.calibration(MODEL.origin) == 1.5
    assert facts.calibration("another") == 1.0
    assert facts.requests_a_run == 2
    assert facts.rewriting == [MODEL.origin]
    assert facts.unanswered == {}
