"""The run that the order of a request was measured with: eight calls with long results, and recall
that changes at every step (ORD-8).
"""

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


def shares(order: str, cache_model: str, calls: int = CALLS) -> list[tuple[int, int, float | None]]:
    """Of each request: prompt tokens, those read from the cache, and their share of the prompt
    before (`None` for the first).
    """
    cache, prompts = CACHE_MODELS[cache_model](), Prompts({})
    found: list[tuple[int, int, float | None]] = []
    for each in refold(session(calls), LabPolicy(order=order)):
        prompt = prompts.prompt(each.request, each.window)
        cached = cache.read(prompt).cached
        found.append((prompt.total, cached, cached / found[-1][0] if found else None))
    return found
