"""PERF-5: one task of 38 requests in each protocol, gone on with by another process."""

import asyncio
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from nodwyn_tui.domain import events as ev
from tests.agent.rig import Rig
from tests.agent.shares import Readable, share_of, stays
from tests.fakes.anthropic_server import AnthropicServer
from tests.fakes.chat_server import ChatServer
from tests.fakes.ollama_server import OllamaServer
from tests.fakes.prefix_cache import in_blocks
from tests.fakes.responses_server import ResponsesServer
from tests.fakes.script import Say, Script, calls
from tests.fakes.server import FakeServer

RUNS = (10, 9, 10, 9)
"""Requests of each run; the third one is another process's."""
NEAR = 32
"""Tokens by which a prediction may miss where rows go: it knows only their share of the bytes."""
MANY = 24
"""Calls at once, more than a mark of Anthropic's cache looks back over."""


@dataclass(frozen=True)
class Cache:
    """A protocol with a cache as its servers document it."""

    server: Callable[..., FakeServer]
    readable: Readable = int
    settings: dict[str, Any] = field(default_factory=dict)
    tells: bool = True
    """Whether the server reports what it read from its cache."""
    billed: bool = False
    """Whether it reports what it wrote there."""


CACHES = {
    "Ollama": Cache(OllamaServer, tells=False),
    "chat completions, llama.cpp": Cache(partial(ChatServer, context=131_072)),
    "chat completions, hosted": Cache(
        partial(ChatServer, cache="blocks", context=131_072), in_blocks
    ),
    "chat completions, marks": Cache(
        partial(ChatServer, cache="marks", context=131_072),
        settings={"cache_control": "ephemeral"},
        billed=True,
    ),
    "Responses, automatic, 4 machines": Cache(partial(ResponsesServer, replicas=4), in_blocks),
    "Responses, marks": Cache(
        partial(ResponsesServer, cache="breakpoints"),
        settings={"cache_control": "12h"},
        billed=True,
    ),
    "Anthropic, 5 minutes": Cache(
        AnthropicServer, settings={"cache_control": "ephemeral"}, billed=True
    ),
    "Anthropic, 1 hour": Cache(AnthropicServer, settings={"cache_control": "1h"}, billed=True),
}


def step(number: int) -> Say:
    """A reply of the task: it thinks, says something, and calls, now and then several at once."""
    read = ("fs-read", {"path": "a.txt", "start": number * 5 + 1, "end": number * 5 + 60})
    wanted = [
        [read],
        [read, ("fs-list", {"path": "."})],
        [("shell", {"command": f"seq {number} {number + 90}"})],
        [("fs-list", {"path": "."}), read, ("shell", {"command": "ls"})],
    ][number % 4]
    if number == 7:
        wanted = [("shell", {"command": f"echo {n}"}) for n in range(MANY)]
    return calls(*wanted, text=f"Step {number}.", thinking=f"What step {number} needs. " * 3)


def task() -> list[Script]:
    """All runs' replies, the last one of each without a call."""
    script: list[Script] = []
    for length in RUNS:
        script += [step(len(script) + n) for n in range(length - 1)]
        script.append(Say(f"Done, {len(script)}.", thinking="That is all."))
    return script


def another_process(workspace: Path, text: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "nodwyn_tui", "run", "--workspace", str(workspace)]
    return subprocess.run(
        [*command, "--continue", "--allow", "shell: *", "-p", text],
        capture_output=True, text=True, timeout=60, check=False, cwd=Path(__file__).parents[2],
    )  # fmt: skip


FACTS = """\
- 2026-01-31 one is the first of them
- two words are enough, and three too
- 2026-02-01 four is even
"""


@pytest.mark.parametrize("fresh", ["auto", "off"])
@pytest.mark.parametrize("name", CACHES)
async def test_every_request_reads_all_that_a_perfect_client_would(
    rig: Rig, name: str, fresh: str
) -> None:
    """PERF-5, ORD-6, ENG-28, PRV-3: 100.0 % of it, as foretold, and nothing is written twice; with
    fresh context as it is sent by default, too, whose recall changes with each run (ORD-9).
    """
    cache = CACHES[name]
    facts = rig.workspace / ".nodwyn" / "memory" / "facts.md"
    facts.parent.mkdir(parents=True)
    facts.write_text(FACTS)
    (rig.workspace / "a.txt").write_text("\n".join(f"line {n} of a file" for n in range(400)))
    settings = {"context": 100_000, "num_ctx": 100_000, "keep_reasoning": True, **cache.settings}
    with cache.server(task()) as server:
        rig.configure(server, fresh=fresh, **settings)
        await rig.open(allow=("shell: *",))
        await rig.ask("one")
        await rig.ask("two, with more to say: " + "word " * 400)
        await rig.close()
        done = await asyncio.to_thread(another_process, rig.workspace, "three")
        assert (done.returncode, done.stdout) == (0, "Done, 28.\n"), done.stderr
        await rig.open(resume="last", allow=("shell: *",))
        assert (await rig.ask("four")).text == "Done, 37."
    assert server.violations == []
    share = share_of(rig, server, cache.readable)
    print("\n" + share.row(f"{name}, {fresh}"))  # noqa: T201 - `pytest -s` gives the table of docs/benchmarks.md
    assert share.requests == sum(RUNS)
    assert share.cached == share.perfect, share.part
    requests = rig.of(ev.LlmRequest)
    goes = any(request.fresh for request in requests)
    assert goes == (fresh == "auto" and server.provider == "openai")
    assert bool(rig.of(ev.FreshContext)) == (fresh == "auto")
    ended = {request.prefix_ended_by for request in requests[1:]}
    assert ended == ({"fresh_rows"} if goes else {None})
    assert goes or share.foretold == share.requests - 1
    missed = [
        cache.readable(request.predicted_cached or 0) - read
        for request, (_, read) in zip(requests[1:], server.reads[1:], strict=True)
    ]
    assert max(map(abs, missed)) <= max(NEAR, cache.readable(1_152) - cache.readable(1_151))
    usage = [reply.usage for reply in rig.of(ev.LlmResponse)]
    if cache.tells:
        assert [each.cached_tokens for each in usage] == [cached for _, cached in server.reads]
    written = sum(each.cache_write_tokens or 0 for each in usage)
    assert written == (stays(server, -1, requests[-1]) if cache.billed else 0)
    long = sum(each.cache_write_long_tokens or 0 for each in usage)
    assert long == (written if settings.get("cache_control") == "1h" else 0)
