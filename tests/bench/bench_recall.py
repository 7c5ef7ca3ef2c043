"""Finds again what was said in windows that are gone (ROL-15): each of 200 planted facts, through
`session_history` alone; how many calls that takes, and how long each. In sessions of 20 resets that
are built event by event, and in one whose windows the real agent left as they filled. Prints a
table; nothing here can fail on a slow day.
"""

import asyncio
import os
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tests.fakes.recall import FACTS, MOST_CALLS, PLACES, WINDOWS, Fact, Voyage, facts, opened
from tests.fakes.sailing import A_RUN, planted, sailed

SIZES = ((12, 2_000), (40, 30_000), (150, 30_000))
"""Steps a window, and the characters of a step's result at most."""
HEADINGS = (
    "made", "windows", "log MB", "rows", "found", "in one", "in two", "in three", "largest kB",
    "ms a call",
)  # fmt: skip


def built(steps: int, size: int) -> tuple[str, ...]:
    """A session that is built."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        Voyage(folder / "log.jsonl", steps, size).write(facts())
        return row("built", WINDOWS, folder, facts())


def rolled_over() -> tuple[str, ...]:
    """A session that the agent had."""
    with tempfile.TemporaryDirectory() as place:
        root = Path(place)
        (root / "home").mkdir()
        os.environ["NODWYN_HOME"] = str(root / "home")
        runs = FACTS // A_RUN
        folder, windows = asyncio.run(sailed(root, runs))
        return row("by the agent", windows, folder, planted(runs))


def row(made: str, windows: int, folder: Path, told: Sequence[Fact]) -> tuple[str, ...]:
    """A line of the table."""
    data = (folder / "log.jsonl").read_bytes()
    rows = data.count(b"\n")
    with opened(folder) as finder:
        began = time.perf_counter()
        calls = Counter(finder.calls_for(fact) for fact in told)
        took = time.perf_counter() - began
    asked = sum(count * (number or MOST_CALLS) for number, count in calls.items())
    return (
        made,
        f"{windows}",
        f"{len(data) / 1e6:.1f}",
        f"{rows:,}",
        f"{len(told) - calls[0]}/{len(told)}",
        *(str(calls[number]) for number in (1, 2, 3)),
        f"{finder.largest / 1e3:.1f}",
        f"{took * 1e3 / asked:.1f}",
    )


def main() -> None:
    print(f"facts in: {', '.join(PLACES)}")  # noqa: T201 - the output
    tell(HEADINGS)
    tell(rolled_over())
    for steps, size in SIZES:
        tell(built(steps, size))


def tell(cells: Sequence[str]) -> None:
    print(*(cell.rjust(13) for cell in cells), sep="", flush=True)  # noqa: T201 - the output


if __name__ == "__main__":
    main()
