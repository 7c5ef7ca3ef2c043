"""The run that the order of a request was measured with: eight calls with long results, and recall
that changes at every step (ORD-8).
"""

from typing import NamedTuple

from nodwyn_tui.domain import events as ev
from nodwyn_tui.domain.parts import Call
from nodwyn_tui.lab.cache_models import CACHE_MODELS
from nodwyn_tui.lab.policies import LabPolicy
from nodwyn_tui.lab.prompts import Prompts
from nodwyn_tui.lab.replays import refold
from nodwyn_tui.window.build import Shape
from nodwyn_tui.window.order import Freshness, FreshRow
from nodwyn_tui.window.sequence import EACH_REQUEST
from tests.builders import LogBuilder

CALLS = 8
LONG = 18_000
"""Characters of a result, which the window cuts at its cap."""


def session(calls: int = CALLS) -> list[ev.Event]:
    """The log of the run: every request with its working state and its recall anew."""
    log = LogBuilder(
        system="You help. " * 90, high_water=90_000, ceiling=99_000, num_ctx=100_000,
        max_result_tokens=1_024,
    )  # fmt: skip
    freshness = Freshness()
    log.user("Look through the reference and say what holds.")
    for n in range(calls):
        rows = [
            FreshRow(kind="working_state", trust="trusted", text="Plan: read on. " * 8),
            FreshRow(kind="recall", trust="data", text=f"As of step {n}: " + "a fact. " * 40),
        ]
        due = freshness.due(rows, EACH_REQUEST, run_starts=not n)
        recorded = [log.add(row) for row in due.record]
        request, _ = log.request(Shape(fresh=due.shown(recorded)))
        for row in recorded:
            freshness.feed(row)
        log.reply(Call(f"c{n}", "shell", "{}"), req=request.seq)
        log.result(f"c{n}", f"section {n} says something new\n" * (LONG // 29))
    return log.events


class Step(NamedTuple):
    """A request: tokens of its prompt, those read from the cache and written to it at a price, and
    the part of the prompt before that was read, `None` for the first.
    """

    prompt: int
    cached: int
    written: int
    share: float | None


def steps(order: str, cache_model: str, calls: int = CALLS) -> list[Step]:
    """The run's requests in that order, through that cache."""
    cache, prompts = CACHE_MODELS[cache_model](), Prompts({})
    found: list[Step] = []
    for each in refold(session(calls), LabPolicy(order=order)):
        prompt = prompts.prompt(each.request, each.window)
        read = cache.read(prompt)
        share = read.cached / found[-1].prompt if found else None
        found.append(Step(prompt.total, read.cached, read.written, share))
    return found


PLACES = {
    "before_run": "before the run's message",
    "each_request": "`each_request`",
    "on_change": "`on_change`",
    "run_start": "`run_start`",
}
"""How docs/fresh.md names an order."""


def table() -> list[str]:
    """The lines of the table in docs/fresh.md: what each cache model gives in each order."""
    return [_line(order, model) for model in CACHE_MODELS for order in PLACES]


def _line(order: str, cache_model: str) -> str:
    found = steps(order, cache_model)
    prompt, cached, written = (sum(each[at] for each in found) for at in range(3))
    part = [f"{found[call - 1].share or 0:.1%}" for call in (3, 4, CALLS)]
    figures = f"{' | '.join(part)} | {cached / prompt:.1%} | {prompt:,} | {written:,}"
    return f"| {PLACES[order]} | `{cache_model}` | {figures} |"
