"""The lab's findings for a person and for a program: a table, bars, JSON."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from nodwyn_tui.domain.request import Json
from nodwyn_tui.lab.policies import LabPolicy
from nodwyn_tui.lab.rows import Row, Sums
from nodwyn_tui.lab.running import Done

HEADINGS = (
    "policy", "cache model", "requests", "prompt", "cached", "share", "uncached", "cost $", "trims",
    "left the window",
)  # fmt: skip
WORDS = 2
"""Columns of words, set to the left."""
BAR = 40
EIGHTHS = ("", "▏", "▎", "▍", "▌", "▋", "▊", "▉")


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """Sums over the logs that every policy could fold, in order of policies and cache models;
    `failures` are the others, by path, with the reason; `ratios` are by log and origin.
    """

    sums: tuple[Sums, ...]
    rows: tuple[Row, ...]
    logs: tuple[Path, ...]
    failures: dict[Path, str]
    ratios: dict[Path, dict[str, float]]


def gather(done: Iterable[Done], policies: Sequence[LabPolicy], models: Sequence[str]) -> Findings:
    """The findings of all jobs. A log that fails under one policy counts under none, so that
    policies are compared over the same requests.
    """
    parts = list(done)
    failures = {part.path: part.failure for part in parts if part.failure}
    whole = sorted((part for part in parts if part.path not in failures), key=lambda p: p.path)
    totals = {
        (policy.name, model): Sums(policy.name, model) for policy in policies for model in models
    }
    for part in whole:
        for sums in part.sums:
            totals[sums.policy, sums.cache_model].merge(sums)
    order = list(totals)
    rows = (row for part in whole for row in part.rows)
    return Findings(
        sums=tuple(totals.values()),
        rows=tuple(
            sorted(rows, key=lambda r: (r.log, order.index((r.policy, r.cache_model)), r.seq))
        ),
        logs=tuple(dict.fromkeys(part.path for part in whole)),
        failures=failures,
        ratios={part.path: part.ratios for part in whole},
    )


def value(findings: Findings) -> dict[str, Json]:
    """The JSON object that `nodwyn lab --json` prints."""
    return {
        "policies": [_value(sums) for sums in findings.sums],
        "logs": [
            {"log": str(path), "token_ratios": findings.ratios[path]} for path in findings.logs
        ],
        "failures": [
            {"log": str(path), "message": why} for path, why in sorted(findings.failures.items())
        ],
    }


def _value(sums: Sums) -> dict[str, Json]:
    return {
        "policy": sums.policy,
        "cache_model": sums.cache_model,
        "requests": sums.requests,
        "prompt_tokens": sums.prompt_tokens,
        "cached_tokens": sums.cached_tokens,
        "cached_share": sums.cached_share,
        "uncached_tokens": sums.uncached_tokens,
        "cost_usd": sums.cost_usd,
        "written_tokens": sums.written_tokens,
        "output_tokens": sums.output_tokens,
        "trims": sums.trims,
        "left_results": sums.left_results,
        "left_replies": sums.left_replies,
        "left_others": sums.left_others,
        "left_tokens": sums.left_tokens,
    }


def table(findings: Findings) -> str:
    """A line for each policy in each cache model, and how its tokens were come by."""
    cells = [HEADINGS, *(_cells(sums) for sums in findings.sums)]
    widths = [max(len(line[at]) for line in cells) for at in range(len(HEADINGS))]
    lines = [
        "  ".join(
            cell.ljust(width) if at < WORDS or at == len(HEADINGS) - 1 else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in cells
    ]
    return "\n".join([*lines, "", scaled(findings)])


def _cells(sums: Sums) -> tuple[str, ...]:
    return (
        sums.policy,
        sums.cache_model,
        f"{sums.requests:,}",
        f"{sums.prompt_tokens:,}",
        f"{sums.cached_tokens:,}",
        "?" if sums.cached_share is None else f"{sums.cached_share:.1%}",
        f"{sums.uncached_tokens:,}",
        "?" if sums.cost_usd is None else f"{sums.cost_usd:,.4f}",
        f"{sums.trims:,}",
        left(sums),
    )


def left(sums: Sums) -> str:
    """What left the window, in words."""
    kinds = (
        (sums.left_results, "result"),
        (sums.left_replies, "repl"),
        (sums.left_others, "other"),
    )
    ends = {"repl": ("y", "ies")}
    words = [
        f"{count:,} {word}{ends.get(word, ('', 's'))[count != 1]}" for count, word in kinds if count
    ]
    return f"{', '.join(words)} ({sums.left_tokens:,} tokens)" if words else "nothing"


def scaled(findings: Findings) -> str:
    """Where the token figures come from."""
    ratios = [ratio for of_log in findings.ratios.values() for ratio in of_log.values()]
    silent = sum(not of_log for of_log in findings.ratios.values())
    words = f"{len(findings.logs)} log{'' if len(findings.logs) == 1 else 's'}. Prompt tokens are"
    if not ratios:
        return f"{words} the engine's estimate: no reply reported its own count."
    low, high = min(ratios), max(ratios)
    span = f"{low:.2f}" if f"{low:.2f}" == f"{high:.2f}" else f"{low:.2f} to {high:.2f}"
    words += f" the engine's estimate times reported over estimated ({span}, by log and model)"
    return words + (f"; plain estimates for the {silent} without reports." if silent else ".")


def chart(findings: Findings) -> str:
    """Bars of the tokens that had to be read anew, by cache model."""
    most = max((sums.uncached_tokens for sums in findings.sums), default=0)
    if not most:
        return ""
    width = max(len(sums.policy) for sums in findings.sums)
    lines = []
    for model in dict.fromkeys(sums.cache_model for sums in findings.sums):
        lines += ["", f"uncached prompt tokens, {model}"]
        for sums in findings.sums:
            if sums.cache_model == model:
                bar = _bar(sums.uncached_tokens / most)
                lines.append(f"{sums.policy.ljust(width)}  {bar} {sums.uncached_tokens:,}")
    return "\n".join(lines[1:])


def _bar(share: float) -> str:
    """A bar of up to `BAR` columns, to an eighth of one."""
    whole, eighths = divmod(round(share * BAR * 8), 8)
    return ("█" * whole + EIGHTHS[eighths]).ljust(BAR)
