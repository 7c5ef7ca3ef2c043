"""Logs folded here, in processes and on a cluster: the same findings."""

import dataclasses
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nodwyn_tui.errors import NodwynError, UsageError
from nodwyn_tui.lab.cache_models import CACHE_MODELS
from nodwyn_tui.lab.logs import logs_at
from nodwyn_tui.lab.policies import LabPolicy
from nodwyn_tui.lab.report import Findings, gather
from nodwyn_tui.lab.running import Done, Job, cluster, fold, here, processes, run, split
from tests.lab.record import SESSIONS

POLICIES = (LabPolicy(), LabPolicy(recipe=16), LabPolicy(cap=300))
MODELS = tuple(CACHE_MODELS)


def jobs() -> list[Job]:
    return [
        Job(path=path, policies=POLICIES, models=MODELS, rows=True) for path in logs_at(SESSIONS)
    ]


def findings(done: Iterator[Done]) -> Findings:
    return gather(done, POLICIES, MODELS)


def test_processes_find_what_one_finds() -> None:
    """ENG-30."""
    assert findings(run(split(jobs(), 8), processes(2))) == findings(here(jobs()))


def test_split_work_is_the_same_work() -> None:
    pieces = split(jobs()[:1], 2)
    assert [len(piece.policies) for piece in pieces] == [2, 1]
    assert findings(here(pieces)) == findings(here(jobs()[:1]))
    assert len(split(jobs(), 2)) == len(jobs())


def test_sums_come_without_rows() -> None:
    (job, *_) = jobs()
    lean = fold(dataclasses.replace(job, rows=False))
    assert lean.rows == ()
    assert lean.sums == fold(job).sums


def test_log_that_cannot_be_read_is_a_failure_of_its_own(tmp_path: Path) -> None:
    done = fold(Job(path=tmp_path / "gone.jsonl", policies=POLICIES, models=MODELS))
    assert "gone.jsonl" in done.failure
    assert done.sums == ()


def test_killed_process_is_told() -> None:
    with pytest.raises(NodwynError, match="try fewer, with --jobs"):
        list(run([_Ender()], processes(1)))


class _Ender:
    """A job that ends the process in which it is unpacked."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os._exit, (9,)


@pytest.fixture
def scheduler() -> Iterator[str]:
    """A small cluster of threads and sockets in this process."""
    distributed = pytest.importorskip("distributed", reason="the extra `cluster` is not installed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None,
        protocol="tcp://", silence_logs=50,
    ) as made:  # fmt: skip
        yield made.scheduler_address


def test_cluster_finds_what_one_process_finds(scheduler: str) -> None:
    """ENG-30: the same function through the cluster's executor."""
    assert findings(run(jobs(), cluster(scheduler))) == findings(here(jobs()))


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "nowhere://x"])
def test_cluster_that_does_not_answer_is_told(address: str) -> None:
    pytest.importorskip("distributed", reason="the extra `cluster` is not installed")
    with pytest.raises(UsageError, match="no Dask scheduler answers at"):
        list(run(jobs(), cluster(address, patience_s=0.3)))


def test_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(UsageError, match=r"install nodwyn-tui\[cluster\]"):
        list(run(jobs(), cluster("tcp://127.0.0.1:9")))


def test_folder_gives_every_log_in_it(tmp_path: Path) -> None:
    """A session's folder, a folder of copied logs, an archive of any depth, a workspace."""
    own = tmp_path / ".nodwyn" / "sessions" / "20260102T030405Z-00c0ffee"
    deep = tmp_path / "archive" / "one" / "20260102T030405Z-00c0ffee"
    for folder in (own, deep):
        folder.mkdir(parents=True)
        (folder / "log.jsonl").write_text("")
        (folder / "other.txt").write_text("")
    (tmp_path / "archive" / "copied.jsonl").write_text("")
    assert logs_at(own) == [own / "log.jsonl"]
    assert logs_at(tmp_path) == [own / "log.jsonl"]
    assert logs_at(tmp_path / "archive") == [
        tmp_path / "archive" / "copied.jsonl", deep / "log.jsonl",
    ]  # fmt: skip
    assert logs_at(deep / "other.txt") == [deep / "other.txt"]


def test_folder_without_logs_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no session log in"):
        logs_at(tmp_path)
