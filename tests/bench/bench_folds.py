"""What folds save: the same scripted session with folds on and off, against fakes that keep prompt
caches as servers document them (ENG-21). Prints the tokens that each server read anew; nothing here
can fail.

    python tests/bench/bench_folds.py
"""

import asyncio
import os
import random
import statistics
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nodwyn_tui.domain import events as ev
from nodwyn_tui.window.replay import replay
from nodwyn_tui.window.stale import Stale
from tests.agent.rig import Rig
from tests.fakes.chat_server import ChatServer
from tests.fakes.script import Say, call, say

FILES, LINES, RUNS, STEPS = 6, 150, 12, 12
PRICE = {"input": 2.0, "cached": 0.2, "output": 10.0}
HEADINGS = (
    "cache", "folds", "requests", "prompt", "read anew", "in prices of a cached token", "trims",
    "results folded", "results in date behind a trim",
)  # fmt: skip


@dataclass(frozen=True)
class Server:
    """A kind of server: its cache, and what the model's entry says."""

    name: str
    cache: Any
    model: Mapping[str, Any]


SERVERS = (
    Server("one slot, local", "slot", {}),
    Server("blocks of 128, a tenth of the price", "blocks", {"price": PRICE}),
)


def script() -> list[Say]:
    """Runs in which files are read and edited, again and again, and commands fail."""
    chance = random.Random(7)
    made: list[Say] = []
    edits = dict.fromkeys(range(FILES), 0)
    for run in range(RUNS):
        for _ in range(STEPS // 4):
            file = chance.randrange(FILES)
            path, number = f"src/{file}.py", edits[file]
            edits[file] += 1
            old, new = f"compute({number})", f"made({number})"
            made.append(call("fs-read", {"path": path}))
            made.append(call("fs-edit", {"path": path, "old": old, "new": new}))
            made.append(call("shell", {"command": f"seq 1 {chance.randrange(100, 500)}; exit 3"}))
            made.append(call("fs-search", {"pattern": f"value_{number}"}))
        made.append(say(f"Run {run} is done."))
    return made


async def measure(server: Server, *, folds: bool) -> tuple[str, ...]:
    """One session; a row of the table."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        os.environ["NODWYN_HOME"] = str(root / "home")
        (root / "home").mkdir()
        rig = Rig(root)
        source = rig.workspace / "src"
        source.mkdir()
        lines = (
            f"value_{n} = compute({n})  # a line of code, as there are\n" for n in range(LINES)
        )
        code = "".join(lines)
        for number in range(FILES):
            (source / f"{number}.py").write_text(code)
        with ChatServer(script(), cache=server.cache, context=65_536) as fake:
            rig.configure(fake, folds=folds, context=65_536, **server.model)
            await rig.open(mode="edits", allow=("shell: *",))
            for run in range(RUNS):
                await rig.ask(f"Do part {run}.")
            await rig.close()
        return row(server, rig, folds=folds)


def row(server: Server, rig: Rig, *, folds: bool) -> tuple[str, ...]:
    usages = [reply.usage for reply in rig.of(ev.LlmResponse)]
    prompt = sum(usage.prompt_tokens or 0 for usage in usages)
    anew = prompt - sum(usage.cached_tokens or 0 for usage in usages)
    trims = [request.seq for request in rig.of(ev.LlmRequest) if request.elided]
    kept = statistics.mean(in_date(rig.log(), seq) for seq in trims)
    price = f"{anew * 10 + prompt - anew:,}" if server.model else "-"
    made = len(rig.of(ev.ResultFold))
    return (
        server.name, "on" if folds else "off", str(len(usages)), f"{prompt:,}", f"{anew:,}",
        price, str(len(trims)), str(made), f"{kept:.1f}",
    )  # fmt: skip


def in_date(events: Sequence[ev.Event], seq: int) -> int:
    """How many results the request at `seq` shows that are not stale."""
    stale = Stale(event for event in events if event.seq < seq).folds()
    entries = replay(events, seq).entries
    return sum(
        e.kind == "result" and e.state in ("in", "cut") and e.seq not in stale for e in entries
    )


def table(rows: Sequence[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(cells)} |" for cells in rows)


async def main() -> None:
    rows = [HEADINGS, ("---",) * len(HEADINGS)]
    rows += [await measure(server, folds=on) for server in SERVERS for on in (False, True)]
    print(table(rows))  # noqa: T201 - the output


if __name__ == "__main__":
    asyncio.run(main())
