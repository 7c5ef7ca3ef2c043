"""What opening a session costs when its log is long (ENG-7, PERF-3): a log of 1 GB against one of
1 MB with the same window, in sessions that start their window anew and in ones that only trim it.
Prints a table, and the figures as a line of JSON; nothing here can fail on a slow day.

    python tests/bench/bench_index.py [--megabytes 1000]
"""

import argparse
import contextlib
import json
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from nodwyn_tui.agent.ledger import Ledgers
from nodwyn_tui.domain import events as ev
from nodwyn_tui.domain.parts import Call, Text
from nodwyn_tui.domain.recipe import CURRENT_VERSION, Recipe, WindowLimits
from nodwyn_tui.store.lines import encode
from nodwyn_tui.store.log import Log
from nodwyn_tui.store.redact import Redactor
from nodwyn_tui.system.clock import SystemClock

WINDOW = 600_000
"""Bytes of the log that the window is made of."""
CODE = "".join(
    f"    value_{n} = compute_{n % 97}(rows, 'text') or None  # a line\n" for n in range(170)
)
HEADINGS = (
    "session", "log MB", "index MB", "cold s", "cold MB", "warm ms", "warm MB", "events",
    "search ms",
)  # fmt: skip
MODEL = ev.ModelRef(name="m", server="s", provider="openai", id="m-1", origin="s/m-1")
LIMITS = WindowLimits(
    high_water=200_000, low_water=150_000, ceiling=230_000, max_result_tokens=8_000,
    output_reserve=8_000,
)  # fmt: skip
RECIPE = Recipe(
    version=CURRENT_VERSION, system="You help. " * 300, tools=(), window=LIMITS, num_ctx=256_000,
    max_output=8_000,
)  # fmt: skip


class Writer:
    """A session as it grows: runs that read files, a call a step."""

    def __init__(self, path: Path) -> None:
        self.file = path.open("wb")
        self.seq = self.size = self.steps = 0
        self.shown: list[int] = []
        self.add(ev.SessionStart(session="s", workspace="/w", app="b", recipe=RECIPE))

    def add(self, *drafts: ev.Event) -> None:
        for place, draft in enumerate(drafts):
            self.seq += 1
            batch = len(drafts) if not place and len(drafts) > 1 else None
            at = "2026-01-02T03:04:05.678Z"
            line = encode(replace(draft, seq=self.seq, at=at, run=1, batch=batch))
            self.size += self.file.write(line)

    def step(self, elided: tuple[int, ...] = ()) -> None:
        self.steps += 1
        if self.steps % 10 == 1:
            self.add(ev.UserMessage(text=f"Go on with number {self.steps}, please."))
        request = ev.LlmRequest(
            model=MODEL,
            parameters=ev.Parameters(),
            digest="0" * 64,
            estimate=150_000,
            elided=elided,
        )
        self.add(request)
        call = Call(f"c{self.steps}", "fs-read", f'{{"path":"src/part{self.steps}.py"}}')
        reply = ev.LlmResponse(req=self.seq, parts=(Text("Looking."), call), finish="calls")
        called = ev.ToolCall(resp=self.seq + 1, call_id=call.id, name=call.name, arguments="{}")
        self.add(reply, called)
        start = self.steps * 997 % len(CODE)
        self.add(ev.ToolResult(call_id=call.id, name=call.name, text=CODE[start:] + CODE[:start]))
        self.shown.append(self.seq)

    def resets(self, size: int) -> None:
        """A session whose window begins anew whenever it is full, the last time for good."""
        while self.size < size - WINDOW:
            self.windowful(WINDOW)
        self.windowful(WINDOW)

    def windowful(self, size: int) -> None:
        self.add(ev.WindowReset(kind="manual", reason="clear"))
        end = self.size + size
        while self.size < end:
            self.step()

    def trims(self, size: int) -> None:
        """One whose window is only trimmed: old results leave it, a third at a time."""
        most = WINDOW // len(CODE)
        while self.size < size:
            gone = tuple(self.shown[: most // 3]) if len(self.shown) >= most else ()
            del self.shown[: len(gone)]
            self.step(gone)


def write(kind: str, size: int, folder: Path) -> None:
    """A log of about so many bytes."""
    folder.mkdir()
    writer = Writer(folder / "log.jsonl")
    with contextlib.closing(writer.file):
        writer.resets(size) if kind == "resets" else writer.trims(size)


def opening(folder: Path) -> dict[str, float]:
    """Opens a session in this process: seconds, and the memory that this took at most (bytes)."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.perf_counter()
    log, opened = Log.open(folder, SystemClock(), Redactor(), Ledgers())
    seconds = time.perf_counter() - began
    peak = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    began = time.perf_counter()
    log.archive.search("value_16 looking", 20)
    log.archive.search("number please", 20)
    search = time.perf_counter() - began
    log.close()
    return {"s": seconds, "peak": peak, "events": len(opened.events), "search": search}


def measured(folder: Path) -> dict[str, float]:
    """The same in a process of its own."""
    command = [sys.executable, __file__, "--open", str(folder)]
    done = subprocess.run(command, capture_output=True, check=True)
    return dict(json.loads(done.stdout))


def figures(kind: str, size: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "session"
        write(kind, size, folder)
        cold = measured(folder)
        warm = min((measured(folder) for _ in range(3)), key=lambda run: run["s"])
        sizes = [(folder / name).stat().st_size for name in ("log.jsonl", "index.sqlite")]
    return {"session": kind, "log": sizes[0], "index": sizes[1], "cold": cold, "warm": warm}


def row(found: dict[str, Any]) -> tuple[str, ...]:
    cold, warm = found["cold"], found["warm"]
    return (
        str(found["session"]),
        f"{found['log'] / 1e6:,.1f}",
        f"{found['index'] / 1e6:,.1f}",
        f"{cold['s']:.2f}",
        f"{cold['peak'] / 1e6:.0f}",
        f"{warm['s'] * 1000:.1f}",
        f"{warm['peak'] / 1e6:.1f}",
        f"{warm['events']:,}",
        f"{warm['search'] * 1000:.1f}",
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--open", type=Path, metavar="FOLDER", help="used by itself")
    asked = parser.parse_args()
    if asked.open:
        print(json.dumps(opening(asked.open)))  # noqa: T201 - the output
        return
    everything = []
    print(*(cell.rjust(11) for cell in HEADINGS), sep="")  # noqa: T201 - the output
    for kind in ("resets", "trims"):
        for size in (1_000_000, asked.megabytes * 1_000_000):
            everything.append(found := figures(kind, size))
            print(*(cell.rjust(11) for cell in row(found)), sep="", flush=True)  # noqa: T201 - the output
    print(json.dumps(everything))  # noqa: T201 - the output


if __name__ == "__main__":
    main()
