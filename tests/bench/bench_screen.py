"""How fast the screen is, on a pseudo-terminal, beside an empty Textual app with a text area
(PERF-1, PERF-2). Prints a table; nothing here can fail on a slow day.

    python tests/bench/bench_screen.py [--starts N] [--keys N]
"""

import argparse
import os
import pty
import random
import re
import select
import statistics
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from nodwyn_tui.link.events import Entry, PageLoaded
from nodwyn_tui.ui.widgets.entry_list import MOST
from nodwyn_tui.ui.widgets.lines import BLANK
from nodwyn_tui.ui.widgets.paging import Paging
from nodwyn_tui.ui.widgets.story import Story
from nodwyn_tui.ui.widgets.viewport import Viewport

ROOT = Path(__file__).parents[2]
EMPTY = """
from textual.app import App
from textual.widgets import TextArea
class Empty(App):
    def compose(self):
        yield TextArea()
Empty().run()
"""
OURS = """
import sys
sys.argv[:] = ["bench", *sys.argv[1:]]
from nodwyn_tui.cli.screen import open_screen
from nodwyn_tui.link.commands import Open
worker = [sys.executable, "-m", "tests.bench.streaming_worker", sys.argv[1], sys.argv[2]]
open_screen(Open(workspace="."), worker=worker)
"""
CODES = re.compile(rb"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[^\[]")
KEYS = "àáâãäåæçèéêëìíîïðñòóôõöøùúûüýþÿ"


@dataclass
class Screen:
    """A program on a terminal of 120 by 40."""

    program: str
    arguments: tuple[str, ...] = ()

    def __enter__(self) -> "Screen":
        self.master, slave = pty.openpty()
        termios.tcsetwinsize(slave, (40, 120))
        quiet = termios.tcgetattr(slave)
        quiet[3] &= ~termios.ECHO
        termios.tcsetattr(slave, termios.TCSANOW, quiet)
        self.home = tempfile.TemporaryDirectory()
        environment = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ROOT),
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
            "NODWYN_HOME": self.home.name,
        }
        self.began = time.perf_counter()
        self.process = subprocess.Popen(
            [sys.executable, "-c", self.program, *self.arguments],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=environment,
            start_new_session=True,
        )
        os.close(slave)
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        end = time.perf_counter() + 5
        while self.process.poll() is None and time.perf_counter() < end:
            self.read(0.05)
        if self.process.poll() is None:
            self.process.kill()
        os.close(self.master)
        self.home.cleanup()

    def read(self, seconds: float) -> bytes:
        if not select.select([self.master], [], [], seconds)[0]:
            return b""
        try:
            return os.read(self.master, 1 << 16)
        except OSError:
            return b""

    def type(self, text: str) -> None:
        os.write(self.master, text.encode())

    def until(self, seen: Callable[[bytes], bool], seconds: float = 20) -> float:
        """When this much has been written, in seconds from the start."""
        output, end = b"", time.perf_counter() + seconds
        while not seen(CODES.sub(b"", output)):
            if time.perf_counter() > end:
                raise TimeoutError(output[-500:])
            output += self.read(1)
        return time.perf_counter() - self.began

    def processor(self) -> float:
        """Milliseconds of processor time that the screen's own process has had (Linux)."""
        threads = Path(f"/proc/{self.process.pid}/task").glob("*/schedstat")
        return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e6

    def drain(self, seconds: float) -> None:
        end = time.perf_counter() + seconds
        while (left := end - time.perf_counter()) > 0:
            self.read(left)


def start(program: str, *arguments: str) -> tuple[float, float, float]:
    """Milliseconds to the first thing on the screen, to a key shown that was typed at once, and of
    processor time until then.
    """
    with Screen(program, arguments) as screen:
        screen.type("Q")
        first = screen.until(lambda output: bool(output.strip()))
        usable = screen.until(lambda output: b"Q" in output)
        return first * 1000, usable * 1000, screen.processor()


def keys(count: int, program: str, *arguments: str) -> list[float]:
    """Milliseconds from a key to its letter on the screen."""
    took: list[float] = []
    rng = random.Random(1)
    with Screen(program, arguments) as screen:
        screen.type("Q")
        screen.until(lambda output: b"Q" in output)
        screen.drain(2)
        for number in range(count):
            key = KEYS[number % len(KEYS)]
            began = time.perf_counter()
            screen.type(key)
            screen.until(lambda output, key=key: key.encode() in output)
            took.append((time.perf_counter() - began) * 1000)
            screen.drain(rng.uniform(0.01, 0.05))
            if number % len(KEYS) == len(KEYS) - 1:
                screen.type("\x15")
                screen.drain(0.1)
    return sorted(took)


def opened(count: int, mode: str) -> tuple[float, float]:
    """Milliseconds to the end of a story on the screen, and the megabytes that it takes there."""
    with Screen(OURS, (str(count), mode)) as screen:
        took = screen.until(lambda output: b"prose" in output)
        screen.drain(2)
        status = Path(f"/proc/{screen.process.pid}/status").read_text()
        resident = re.search(r"VmRSS:\s+(\d+) kB", status)
        return took * 1000, int(resident[1]) / 1024 if resident else 0.0


def page_put_in(held: int, size: int = 500) -> float:
    """Milliseconds to put a page of `size` entries before `held` others and take what is seen."""
    text = "Words of a note, of which there are many. " * 5
    made = [
        Entry(id=f"{seq:08}", seq=seq, kind="note", preview=text, size=len(text))
        for seq in range(1, held + size + 1)
    ]
    story = Story(lambda *_: [BLANK])
    view = Viewport(story)
    view.resize(120, 30)
    view.reset()
    story.load(made[size:], earlier=True)
    view.sync(1)
    view.go_to(40)
    paging = Paging(story, view)
    paging.wanted(view.rows())
    page = PageLoaded(entries=tuple(made[:size]), before=size + 1, more=True)
    began = time.perf_counter()
    assert paging.fill(page)
    view.rows()
    return (time.perf_counter() - began) * 1000


def stories(times: int) -> None:
    """How long stories open, and what a page costs."""
    print(f"\n{'a long story':44} {'p50 ms':>8} {'MB':>8}")  # noqa: T201 - its output
    for name, count, mode in (
        ("opened: 10 entries", 10, "idle"),
        ("opened: 50,000 entries, by pages", 50_000, "paged"),
    ):
        runs = [opened(count, mode) for _ in range(times)]
        took, size = (statistics.median(values) for values in zip(*runs, strict=True))
        print(f"{name:44} {took:8.1f} {size:8.1f}")  # noqa: T201
    for held in (500, MOST, 50_000):
        took = statistics.median(page_put_in(held) for _ in range(9))
        print(f"{f'a page of 500 before {held:,} entries':44} {took:8.2f}")  # noqa: T201


def row(name: str, values: list[float], base: list[float] | None) -> None:
    """One line of the table; ratios against the empty app's own figures."""
    p50, p99, most = statistics.median(values), values[int(len(values) * 0.99)], values[-1]
    ratios = ""
    if base is not None:
        ratios = f"{p50 / statistics.median(base):8.2f} {p99 / base[int(len(base) * 0.99)]:8.2f}"
    print(f"{name:44} {p50:8.1f} {p99:8.1f} {most:8.1f} {ratios}")  # noqa: T201 - its output


def main() -> None:
    """Measure in turns, so that a busy moment hits all alike."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--starts", type=int, default=10)
    parser.add_argument("--keys", type=int, default=300)
    asked = parser.parse_args()
    peers: list[tuple[float, float, float]] = []
    own: list[tuple[float, float, float]] = []
    for _ in range(asked.starts):
        peers.append(start(EMPTY))
        own.append(start(OURS, "10", "idle"))
    _, empty, empty_work = (sorted(values) for values in zip(*peers, strict=True))
    first, usable, work = (sorted(values) for values in zip(*own, strict=True))
    print(f"{'milliseconds':44} {'p50':>8} {'p99':>8} {'max':>8} {'of p50':>8} {'of p99':>8}")  # noqa: T201
    row("start: empty app, typed key shown", empty, None)
    row("start: first frame", first, empty)
    row("start: prompt usable, typed key shown", usable, empty)
    row("start: processor time of the empty app", empty_work, None)
    row("start: processor time of the screen", work, empty_work)
    stories(max(asked.starts // 2, 1))
    base = keys(asked.keys, EMPTY)
    row("key: empty app", base, None)
    row("key: 10 entries, idle", keys(asked.keys, OURS, "10", "idle"), base)
    row("key: 10 entries, 500 tokens a second", keys(asked.keys, OURS, "10", "stream"), base)
    row("key: 10,000 entries, 500 tokens a second", keys(asked.keys, OURS, "10000", "stream"), base)


if __name__ == "__main__":
    main()
