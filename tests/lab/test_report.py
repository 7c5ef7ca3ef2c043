"""The findings as a table, bars and JSON, and as rows for a data engine."""

import csv
import dataclasses
import inspect
import io
import re
import sys
from pathlib import Path

import pytest

from nodwyn_tui.cli import lab
from nodwyn_tui.errors import UsageError
from nodwyn_tui.lab.cache_models import CACHE_MODELS
from nodwyn_tui.lab.export import COLUMNS, csv_text, need_parquet, parquet_bytes
from nodwyn_tui.lab.measures import Prices
from nodwyn_tui.lab.policies import LabPolicy
from nodwyn_tui.lab.report import Findings, chart, gather, left, table, value
from nodwyn_tui.lab.rows import Sums
from nodwyn_tui.lab.running import Done, Job, fold
from tests.lab.record import SESSIONS

COMMAND = inspect.getsource(lab)
POLICIES = (LabPolicy(), LabPolicy(recipe=1))
MODELS = ("kv-slot", "breakpoints")


def findings(prices: Prices | None = None, *names: str) -> Findings:
    jobs = [
        Job(
            path=SESSIONS / f"{name}.jsonl",
            policies=POLICIES,
            models=MODELS,
            prices=prices,
            rows=True,
        )
        for name in names or ("trims", "chat")
    ]
    return gather(map(fold, jobs), POLICIES, MODELS)


def test_json_has_the_published_fields() -> None:
    """The command line's contract, in its order; what is more comes after."""
    told = value(findings())
    assert list(told["policies"][0])[:8] == [
        "policy", "cache_model", "requests", "prompt_tokens", "cached_tokens", "cached_share",
        "uncached_tokens", "cost_usd",
    ]  # fmt: skip
    pairs = [(each["policy"], each["cache_model"]) for each in told["policies"]]
    assert pairs == [(policy.name, model) for policy in POLICIES for model in MODELS]
    for each in told["policies"]:
        assert each["requests"] == 19
        assert each["cached_share"] == each["cached_tokens"] / each["prompt_tokens"]
        assert each["uncached_tokens"] == each["prompt_tokens"] - each["cached_tokens"]
        assert each["cost_usd"] is None
    assert [Path(each["log"]).stem for each in told["logs"]] == ["chat", "trims"]


def test_cost_follows_the_prices() -> None:
    (sums, *_) = findings(Prices(2.0, 0.2, 2.5, 10.0)).sums
    plain = sums.uncached_tokens - sums.written_tokens
    dollars = 2 * plain + 0.2 * sums.cached_tokens + 2.5 * sums.written_tokens
    assert sums.cost_usd == pytest.approx((dollars + 10 * sums.output_tokens) / 1e6)


def test_log_that_fails_counts_under_no_policy(tmp_path: Path) -> None:
    """Policies are compared over the same requests."""
    whole = fold(Job(path=SESSIONS / "chat.jsonl", policies=POLICIES, models=MODELS))
    half = fold(Job(path=SESSIONS / "trims.jsonl", policies=POLICIES[:1], models=MODELS))
    failed = Done(path=half.path, ratios={}, failure="no recipe is recorded")
    found = gather([failed, half, whole], POLICIES, MODELS)
    assert [path.stem for path in found.logs] == ["chat"]
    assert found.failures == {half.path: "no recipe is recorded"}
    assert {sums.requests for sums in found.sums} == {3}


def test_table_has_a_line_for_each_policy_and_cache() -> None:
    lines = table(findings()).splitlines()
    assert lines[0].split()[:5] == ["policy", "cache", "model", "requests", "prompt"]
    assert [line.split()[:2] for line in lines[1:5]] == [
        ["recorded", "kv-slot"], ["recorded", "breakpoints"], ["recipe=1", "kv-slot"],
        ["recipe=1", "breakpoints"],
    ]  # fmt: skip
    assert "times reported over estimated (0.7" in lines[-1]


def test_table_says_where_figures_are_mere_estimates() -> None:
    sums = (Sums("recorded", "kv-slot"),)
    silent, told = Path("a"), Path("b")
    both = Findings(
        sums=sums, rows=(), logs=(silent, told), failures={}, ratios={silent: {}, told: {"o": 0.5}}
    )
    assert "(0.50, by log and model); plain estimates for the 1 without" in table(both)
    none = dataclasses.replace(both, logs=(silent,), ratios={silent: {}})
    assert "1 log. Prompt tokens are the engine's estimate: no reply" in table(none)


def test_what_left_is_told_in_words() -> None:
    assert left(Sums("p", "m")) == "nothing"
    some = Sums("p", "m", left_results=2, left_replies=1, left_others=1, left_tokens=1_234)
    assert left(some) == "2 results, 1 reply, 1 other (1,234 tokens)"


def test_bars_are_as_long_as_what_was_read_anew() -> None:
    sums = [Sums("one", "kv-slot", prompt_tokens=800), Sums("two", "kv-slot", prompt_tokens=200)]
    found = Findings(sums=tuple(sums), rows=(), logs=(), failures={}, ratios={})
    heading, one, two = chart(found).splitlines()
    assert heading == "uncached prompt tokens, kv-slot"
    assert one == f"one  {'█' * 40} 800"
    assert two == f"two  {'█' * 10}{' ' * 30} 200"
    assert chart(dataclasses.replace(found, sums=())) == ""


def test_csv_has_a_row_a_request() -> None:
    found = findings(None, "trims")
    read = list(csv.DictReader(io.StringIO(csv_text(found.rows))))
    assert len(read) == len(found.rows) == 16 * len(POLICIES) * len(MODELS)
    for text, row in zip(read, found.rows, strict=True):
        assert (text["policy"], int(text["seq"])) == (row.policy, row.seq)
        assert int(text["prompt_tokens"]) == row.prompt_tokens
        assert text["cost_usd"] == ""
        assert tuple(map(int, text["elided"].split())) == row.elided


def test_rows_are_in_order_of_logs_policies_and_requests() -> None:
    rows = findings().rows
    assert [row.log for row in rows] == sorted(row.log for row in rows)
    first = [row for row in rows if row.log.endswith("chat.jsonl")]
    assert [row.policy for row in first] == ["recorded"] * 6 + ["recipe=1"] * 6


def test_parquet_holds_the_same_rows() -> None:
    """ENG-30: for a data engine."""
    parquet = pytest.importorskip("pyarrow.parquet", reason="the extra `lab` is not installed")
    found = findings(Prices(1.0, 1.0, 1.0, 1.0), "trims")
    read = parquet.read_table(io.BytesIO(parquet_bytes(found.rows))).to_pylist()
    assert read == [dataclasses.asdict(row) | {"elided": list(row.elided)} for row in found.rows]
    assert parquet.read_table(io.BytesIO(parquet_bytes(()))).column_names == list(COLUMNS)


def test_missing_library_is_named_before_anything_is_folded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UsageError, match=r"install nodwyn-tui\[lab\], or take --csv"):
        need_parquet()


def test_guide_names_every_option_cache_model_and_column() -> None:
    """QLT-3."""
    guide = (Path(__file__).parents[2] / "docs" / "lab.md").read_text()
    options = re.findall(r"add(?:_argument)?\(\"(--[a-z-]+)\"", COMMAND)
    assert len(options) > 10
    for name in (*options, *CACHE_MODELS, *COLUMNS):
        assert f"`{name}" in guide, name
