"""`nodwyn lab`: recorded sessions folded again under other policies.

Reads logs alone: no configuration, no workspace file, no model.
"""

import argparse
import itertools
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from nodwyn_tui.cli import output
from nodwyn_tui.cli.stored import find_log
from nodwyn_tui.domain.words import STRATEGIES
from nodwyn_tui.errors import NodwynError, UsageError
from nodwyn_tui.lab import running
from nodwyn_tui.lab.cache_models import CACHE_MODELS
from nodwyn_tui.lab.export import csv_text, need_parquet, parquet_bytes
from nodwyn_tui.lab.logs import logs_at
from nodwyn_tui.lab.measures import Prices
from nodwyn_tui.lab.orders import ORDERS
from nodwyn_tui.lab.pictures import costs, course, need_costs, need_course, need_pictures
from nodwyn_tui.lab.policies import LabPolicy, recipe_versions
from nodwyn_tui.lab.report import Findings, chart, gather, table, value
from nodwyn_tui.lab.running import Done, Job
from nodwyn_tui.system.atomic import write_whole

ALL = "all"
FOLDS = {"recorded": None, "on": True, "off": False}


def run(arguments: Sequence[str]) -> int:
    """Folds what was asked for, and prints or saves it; 1 if a log could not be folded."""
    parsed = _parser().parse_args(arguments)
    policies = _policies(parsed)
    for policy in policies:
        policy.check()
    logs = _logs(parsed.path)
    _can_deliver(parsed, policies, logs)
    models = _models(parsed.cache_model)
    jobs = [
        Job(
            path=path,
            policies=policies,
            models=models,
            prices=None if parsed.price is None else Prices.of(parsed.price),
            rows=bool(parsed.csv or parsed.parquet or parsed.course),
        )
        for path in logs
    ]
    findings = gather(_done(jobs, parsed), policies, models)
    for path, why in sorted(findings.failures.items()):
        output.tell(f"nodwyn: {path}: {why}")
    if not findings.logs:
        raise NodwynError("none of the logs could be folded")
    _deliver(findings, parsed)
    return 1 if findings.failures else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="nodwyn lab",
        description="Fold recorded sessions again under other policies: what each would have sent,"
        " what caches would have held of it, what it would have cost. No model is called.",
        epilog="Several values of an option, parted by commas, give a policy for each combination;"
        " 'recorded' is what the log has.",
    )
    add = parser.add_argument
    add("path", nargs="+", metavar="PATH", help="a log, a session's folder or id, a folder of logs")
    add("--recipe", metavar="N", help="recipe versions: 16, or 1,16,20, or 1..20")
    add("--strategy", metavar="S", help="when a window fills: " + ", ".join(STRATEGIES))
    add("--high", metavar="N", help="the high mark, in tokens")
    add("--low", metavar="N", help="the low mark, in tokens")
    add("--cap", metavar="N", help="the cap of a result, in tokens")
    add("--threshold", metavar="T", help="where windows roll over: 0.7, a share of the ceiling")
    add("--folds", metavar="F", help="stale results folded: on, off, or as recorded")
    add("--order", metavar="O", help="where fresh rows stand (" + ", ".join(ORDERS) + ")")
    add("--cache-model", metavar="M", default=ALL, help=f"{', '.join(CACHE_MODELS)} (all)")
    add("--price", metavar="I,C,W,O", help="dollars a million tokens: input,cached,write,output")
    add("--jobs", type=_count, metavar="N", help="processes (as many as the machine has cores)")
    add("--cluster", metavar="ADDRESS", help="fold on a Dask cluster")
    add("--chart", metavar="FILE", help="save what each policy costs as a picture, .svg or .png")
    add("--course", metavar="FILE", help="save one log's course, request by request, as a picture")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true")
    form.add_argument("--csv", metavar="FILE", help="save a row a request ('-' prints it)")
    form.add_argument("--parquet", metavar="FILE", help="save a row a request")
    return parser


def _count(word: str) -> int:
    if not (word.isascii() and word.isdecimal() and int(word)):
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, not {word!r}")
    return int(word)


def _policies(parsed: argparse.Namespace) -> tuple[LabPolicy, ...]:
    """Every combination of the values given, each once."""
    combined = itertools.product(
        [None] if parsed.recipe is None else recipe_versions(parsed.recipe),
        _numbers("--high", parsed.high),
        _numbers("--low", parsed.low),
        _numbers("--cap", parsed.cap),
        _shares("--threshold", parsed.threshold),
        _folds(parsed.folds),
        _words(parsed.strategy),
        _words(parsed.order),
    )
    return tuple(
        dict.fromkeys(
            LabPolicy(
                recipe=recipe,
                high=high,
                low=low,
                cap=cap,
                threshold=threshold,
                folds=folds,
                strategy=strategy,
                order=order,
            )
            for recipe, high, low, cap, threshold, folds, strategy, order in combined
        )
    )


def _words(words: str | None) -> list[str | None]:
    if words is None:
        return [None]
    return [None if word.strip() == "recorded" else word.strip() for word in words.split(",")]


def _numbers(option: str, words: str | None) -> list[int | None]:
    found: list[int | None] = []
    for word in _words(words):
        if word is not None and not (word.isascii() and word.isdigit() and int(word)):
            raise UsageError(f"{option} takes whole numbers of tokens or 'recorded', not {word!r}")
        found.append(None if word is None else int(word))
    return found


def _shares(option: str, words: str | None) -> list[float | None]:
    found: list[float | None] = []
    for word in _words(words):
        try:
            found.append(None if word is None else float(word))
        except ValueError:
            found.append(0.0)
        if found[-1] is not None and not 0 < found[-1] < 1:
            raise UsageError(f"{option} takes shares between 0 and 1 or 'recorded', not {word!r}")
    return found


def _folds(words: str | None) -> list[bool | None]:
    found = []
    for word in ["recorded"] if words is None else words.split(","):
        if word.strip() not in FOLDS:
            raise UsageError(f"--folds takes {', '.join(FOLDS)}, not {word.strip()!r}")
        found.append(FOLDS[word.strip()])
    return found


def _models(words: str) -> tuple[str, ...]:
    names = [word.strip() for word in words.split(",")]
    if ALL in names:
        return tuple(CACHE_MODELS)
    for name in names:
        if name not in CACHE_MODELS:
            raise UsageError(
                f"there is no cache model {name!r}; there are: {', '.join(CACHE_MODELS)}"
            )
    return tuple(dict.fromkeys(names))


def _logs(references: Sequence[str]) -> list[Path]:
    """The logs of all paths and ids, each once."""
    found: dict[Path, None] = {}
    for reference in references:
        path = Path(reference)
        for log in logs_at(path) if os.path.lexists(path) else [find_log(reference)]:
            found[log] = None
    return list(found)


def _done(jobs: Sequence[Job], parsed: argparse.Namespace) -> Iterator[Done]:
    """The jobs, in as many processes as there is work for, or on the cluster that was named."""
    if parsed.cluster is not None:
        return _told(running.run(jobs, running.cluster(parsed.cluster)), len(jobs))
    count = parsed.jobs or os.cpu_count() or 1
    pieces = running.split(jobs, count)
    if count == 1 or len(pieces) == 1:
        return _told(running.here(pieces), len(pieces))
    pool = running.processes(min(count, len(pieces)))
    return _told(running.run(pieces, pool), len(pieces))


def _told(done: Iterable[Done], count: int) -> Iterator[Done]:
    """The same, with progress on standard error where a person looks."""
    watched = sys.stderr.isatty()
    for number, each in enumerate(done, 1):
        if watched:
            end = "\n" if number == count else ""
            print(f"\rfolded {number:,} of {count:,}", end=end, file=sys.stderr, flush=True)  # noqa: T201 - progress
        yield each


def _can_deliver(
    parsed: argparse.Namespace, policies: Sequence[LabPolicy], logs: Sequence[Path]
) -> None:
    """Raises `UsageError` for what cannot be saved in the end, before anything is folded."""
    names = [policy.name for policy in policies]
    if parsed.parquet:
        need_parquet()
    if parsed.chart:
        need_costs(names)
        need_pictures(parsed.chart)
    if parsed.course:
        need_course(logs, names)
        need_pictures(parsed.course)


def _deliver(findings: Findings, parsed: argparse.Namespace) -> None:
    if parsed.chart:
        write_whole(Path(parsed.chart), costs(findings, parsed.chart))
    if parsed.course:
        write_whole(Path(parsed.course), course(findings, parsed.course))
    if parsed.json:
        output.json_line(value(findings))
    elif parsed.csv == "-":
        output.data(_csv(findings))
    elif parsed.csv:
        write_whole(Path(parsed.csv), _csv(findings))
    elif parsed.parquet:
        write_whole(Path(parsed.parquet), parquet_bytes(findings.rows))
    elif not (parsed.chart or parsed.course):
        output.show(f"{table(findings)}\n\n{chart(findings)}")


def _csv(findings: Findings) -> bytes:
    return csv_text(findings.rows).encode("utf-8", "replace")
