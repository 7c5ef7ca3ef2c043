"""Logs folded side by side: in this process, in processes of this machine, or on a Dask cluster.

The same function runs in all three. A log that cannot be folded is a failure of its own; the others
go on.
"""

import contextlib
import importlib
import logging
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path

from nodwyn_tui.errors import NodwynError, UsageError
from nodwyn_tui.lab.measures import Prices, Source, measure
from nodwyn_tui.lab.policies import LabPolicy
from nodwyn_tui.lab.replays import scales
from nodwyn_tui.lab.rows import Row, Sums
from nodwyn_tui.store.log import Log

PATIENCE_S = 10.0
"""How long a scheduler may take to answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A log and the policies to fold it under. `rows` False gives back the sums alone."""

    path: Path
    policies: tuple[LabPolicy, ...]
    models: tuple[str, ...]
    prices: Prices | None = None
    rows: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What became of a job: `failure` says for the person why there is nothing, '' if all is well;
    `ratios` are reported over estimated prompt tokens, by origin.
    """

    path: Path
    sums: tuple[Sums, ...] = ()
    rows: tuple[Row, ...] = ()
    ratios: dict[str, float]
    failure: str = ""


Open = Callable[[], contextlib.AbstractContextManager[Executor]]
"""Gives the executor that jobs run in."""


def _named(path: Path) -> str:
    """A path as text that can be saved, whatever bytes its name has."""
    return os.fsencode(path).decode("utf-8", "replace")


def fold(job: Job) -> Done:
    """Does a job, here and now."""
    try:
        source = Source(_named(job.path), Log.read(job.path).events)
        sums: dict[tuple[str, str], Sums] = {}
        rows: list[Row] = []
        for policy in job.policies:
            for model in job.models:
                sums[policy.name, model] = Sums(policy.name, model)
            for row in measure(source, policy, job.models, job.prices):
                sums[row.policy, row.cache_model].take(row)
                if job.rows:
                    rows.append(row)
    except NodwynError as error:
        return Done(path=job.path, ratios={}, failure=str(error))
    return Done(
        path=job.path, sums=tuple(sums.values()), rows=tuple(rows), ratios=scales(source.events)
    )


def run(jobs: Sequence[Job], executor: Open) -> Iterator[Done]:
    """The jobs done, in the order in which they end. `NodwynError` where an executor fails."""
    with executor() as pool:
        for future in as_completed([pool.submit(fold, job) for job in jobs]):
            yield future.result()


def here(jobs: Sequence[Job]) -> Iterator[Done]:
    """The jobs done one after the other, in this process."""
    return map(fold, jobs)


def processes(count: int) -> Open:
    """Processes of this machine, started anew, so that they are the same on every system."""

    @contextlib.contextmanager
    def started() -> Iterator[Executor]:
        # Ctrl-C reaches them too, and ends them without a word; where this process was started so
        # that it is none of its business (in the background of a script), it is none of theirs.
        is_ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        pool = ProcessPoolExecutor(
            count,
            mp_context=multiprocessing.get_context("spawn"),
            initializer=signal.signal,
            initargs=(signal.SIGINT, signal.SIG_IGN if is_ignored else signal.SIG_DFL),
        )
        try:
            yield pool
        except BrokenProcessPool as error:
            raise NodwynError(
                "a process of the lab was killed, most likely for want of memory: try fewer, with"
                " --jobs"
            ) from error
        finally:
            pool.shutdown(cancel_futures=True)

    return started


def cluster(address: str, patience_s: float = PATIENCE_S) -> Open:
    """The workers of a Dask cluster; they read the logs by the same paths. `UsageError` without the
    extra that brings Dask, or if no scheduler answers.
    """

    @contextlib.contextmanager
    def connected() -> Iterator[Executor]:
        # An extra of the package: who has no cluster does not install it.
        try:
            distributed = importlib.import_module("distributed")
        except ImportError as error:
            raise UsageError(
                "--cluster needs the extra that brings Dask: install nodwyn-tui[cluster]"
            ) from error
        logging.getLogger("distributed").setLevel(logging.CRITICAL)
        try:
            client = distributed.Client(address, timeout=patience_s, set_as_default=False)
        except (OSError, ValueError) as error:
            raise UsageError(f"no Dask scheduler answers at {address!r}: {error}") from error
        with client:
            executor = client.get_executor()
            try:
                yield executor
            except (OSError, distributed.KilledWorker) as error:
                raise NodwynError(f"the Dask cluster at {address} failed: {error}") from error
            finally:
                executor.shutdown(wait=False)

    return connected


def split(jobs: Sequence[Job], count: int) -> list[Job]:
    """The same work in at least `count` jobs where it can be, so that none of as many processes
    waits for a single log.
    """
    pieces = max(1, -(-count // max(1, len(jobs))))
    return [
        Job(path=j.path, policies=part, models=j.models, prices=j.prices, rows=j.rows)
        for j in jobs
        for at in range(pieces)
        if (part := j.policies[at::pieces])
    ]
