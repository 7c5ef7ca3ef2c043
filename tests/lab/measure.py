"""The figures of `docs/lab.md`: `python -m tests.lab.measure recipes`, or `strategies`, or `speed`
(PERF-7).
"""

import resource
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from nodwyn_tui.domain.words import STRATEGIES
from nodwyn_tui.lab.cache_models import CACHE_MODELS
from nodwyn_tui.lab.measures import Prices
from nodwyn_tui.lab.policies import LabPolicy
from nodwyn_tui.lab.report import Findings, gather
from nodwyn_tui.lab.running import Job, processes, run, split
from nodwyn_tui.window.policy import ADDED
from tests.lab.generator import session, write

CORES = 2
MODELS = tuple(CACHE_MODELS)
PRICES = Prices(input=2.0, cached=0.2, write=2.5, output=10.0)


def recipes() -> str:
    """Every recipe over one session of 200 requests, as a Markdown table."""
    return table("recipe", {str(version): LabPolicy(recipe=version) for version in ADDED})


def strategies() -> str:
    """What happens when the window fills, over the same session."""
    return table("strategy", {name: LabPolicy(strategy=name) for name in STRATEGIES})


def table(what: str, policies: Mapping[str, LabPolicy]) -> str:
    """Policies over one session of 200 requests."""
    with tempfile.TemporaryDirectory() as folder:
        log = write(Path(folder) / "long.jsonl", session(200))
        found = folded([log], tuple(policies.values()))
    lines = [
        f"| {what} | prompt tokens | trims | {' | '.join(MODELS)} |",
        f"| ---: | ---: | ---: | {' | '.join('---:' for _ in MODELS)} |",
    ]
    for name, policy in policies.items():
        mine = [sums for sums in found.sums if sums.policy == policy.name]
        figures = f"{mine[0].prompt_tokens:,} | {mine[0].trims}"
        cells = [f"{sums.cached_share:.1%} · ${sums.cost_usd:.2f}" for sums in mine]
        lines.append(f"| {name} | {figures} | {' | '.join(cells)} |")
    return "\n".join(lines)


def speed() -> str:
    """Seconds for 1,000 recorded requests: five sessions of 200, and one of 1,000."""
    with tempfile.TemporaryDirectory() as folder:
        five = [
            write(Path(folder) / f"{seed}.jsonl", session(200, seed=seed)) for seed in range(1, 6)
        ]
        one = write(Path(folder) / "one.jsonl", session(1_000))
        return "\n".join(
            (
                f"five sessions of 200 requests: {timed(five)}",
                f"one session of 1,000 requests: {timed([one])}",
            )
        )


def timed(logs: Sequence[Path]) -> str:
    """Wall-clock and processor seconds of a fold under one policy in all cache models."""
    began, before = time.monotonic(), _processor()
    found = folded(logs, (LabPolicy(),))
    took, spent = time.monotonic() - began, _processor() - before
    return f"{found.sums[0].requests:,} requests in {took:.1f} s ({spent:.1f} s of processor time)"


def folded(logs: Sequence[Path], policies: tuple[LabPolicy, ...]) -> Findings:
    """The logs under the policies, in as many processes as there are cores to count on."""
    jobs = [Job(path=log, policies=policies, models=MODELS, prices=PRICES) for log in logs]
    return gather(run(split(jobs, CORES), processes(CORES)), policies, MODELS)


def _processor() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    print({"recipes": recipes, "strategies": strategies, "speed": speed}[sys.argv[1]]())  # noqa: T201 - its output
