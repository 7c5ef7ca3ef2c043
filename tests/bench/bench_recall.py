"""Finds again what was said in windows that are gone (ROL-15): in a session of 20 resets, each of
200 planted facts, through `session_history` alone; how many calls that takes, and how long each.
Prints a table; nothing here can fail on a slow day.
"""

import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.fakes.recall import FACTS, MOST_CALLS, PLACES, Voyage, facts, opened

SIZES = ((12, 2_000), (40, 30_000), (150, 30_000))
"""Steps a window, and the characters of a step's result at most."""
HEADINGS = ("log MB", "rows", "found", "in one", "in two", "in three", "largest kB", "ms a call")


def row(steps: int, size: int) -> tuple[str, ...]:
    planted = facts()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        Voyage(folder / "log.jsonl", steps, size).write(planted)
        data = (folder / "log.jsonl").read_bytes()
        rows = data.count(b"\n")
        with opened(folder) as finder:
            began = time.perf_counter()
            calls = Counter(finder.calls_for(fact) for fact in planted)
            took = time.perf_counter() - began
    made = sum(count * (number or MOST_CALLS) for number, count in calls.items())
    return (
        f"{len(data) / 1e6:.1f}",
        f"{rows:,}",
        f"{FACTS - calls[0]}/{FACTS}",
        *(str(calls[number]) for number in (1, 2, 3)),
        f"{finder.largest / 1e3:.1f}",
        f"{took * 1e3 / made:.1f}",
    )


def main() -> None:
    print(f"facts in: {', '.join(PLACES)}")  # noqa: T201 - the output
    print(*(cell.rjust(11) for cell in HEADINGS), sep="")  # noqa: T201 - the output
    for steps, size in SIZES:
        print(*(cell.rjust(11) for cell in row(steps, size)), sep="", flush=True)  # noqa: T201 - the output


if __name__ == "__main__":
    main()
