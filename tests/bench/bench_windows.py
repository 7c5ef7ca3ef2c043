"""A task three windows long, under each strategy (PERF-5): what it costs, what stays reachable, and
whether any request is over the limit. Beside it, what a client would pay that never has to drop
anything, and one that drops a little before every request. Prints two tables, and their figures as
JSON; nothing here can fail on a slow day.

    python tests/bench/bench_windows.py
"""

import asyncio
import json
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from nodwyn_tui.domain import events as ev
from nodwyn_tui.domain.words import STRATEGIES
from tests.agent.rig import Rig
from tests.fakes.anthropic_server import AnthropicServer
from tests.fakes.chat_server import ChatServer
from tests.fakes.ollama_server import OllamaServer
from tests.fakes.prefix_cache import BYTES_A_TOKEN, Counted, PrefixCache, prompt_bytes
from tests.fakes.recall import found_again
from tests.fakes.responses_server import ResponsesServer
from tests.fakes.server import FakeServer
from tests.fakes.stocktaking import STOCK, Model, Task

CONTEXT, ENDLESS, REPLY, CAP = 64_000, 1_000_000, 8_192, 3_072
TASK = Task(registers=38, runs=6, size=15_500, log=16_000)
RESUMED = 3
"""The run before which the session is closed and opened again."""
ALLOWED = ("shell: *",)
PRICE = {"input": 2.0, "cached": 0.2, "output": 10.0}
"""US dollars a million tokens."""
LINE = (CONTEXT - REPLY) * 3 // 4 * 3 // BYTES_A_TOKEN
"""The high mark, an estimate of a token for three bytes, as the servers count."""
PROTECTED = 4
LEAST, LITTLE_BY_LITTLE = "nothing ever leaves", "in place, before each request"
HEADINGS = (
    "strategy", "requests", "prompt", "read anew", "of the least", "cost", "of the least",
    "windows left", "warned first", "look-ups", "over the limit", "found again",
)  # fmt: skip


@dataclass(frozen=True)
class Cache:
    """A protocol with a cache as its servers document it; `settings` are the model's."""

    server: Callable[..., FakeServer]
    settings: Mapping[str, Any] = field(default_factory=dict)


HOSTED = "chat completions, blocks of 128"
CACHES = {
    HOSTED: Cache(partial(ChatServer, cache="blocks")),
    "Ollama, one slot": Cache(OllamaServer),
    "Responses, marks": Cache(
        partial(ResponsesServer, cache="breakpoints"), {"cache_control": "12h"}
    ),
    "Anthropic, 5 minutes": Cache(AnthropicServer, {"cache_control": "ephemeral"}),
}


@dataclass(frozen=True, kw_only=True)
class Found:
    """A session's figures. Tokens are the server's; `left` counts trims, compactions and rollovers,
    `warned` those before which the model could write its notes; `calls` are how many facts were
    found in one call, in two, in three, and not (0).
    """

    cache: str
    strategy: str
    requests: int
    prompt: int
    uncached: int
    output: int
    left: int
    warned: int | None = None
    looked_up: int = 0
    over_the_limit: int = 0
    planted: int = 0
    calls: Mapping[int, int] = field(default_factory=dict)

    @property
    def cost(self) -> float:
        """US dollars."""
        cached = self.prompt - self.uncached
        priced = self.uncached * PRICE["input"] + cached * PRICE["cached"]
        return (priced + self.output * PRICE["output"]) / 1e6

    def row(self, least: "Found") -> tuple[str, ...]:
        """A line of the table."""
        found = sum(self.calls.values()) - self.calls.get(0, 0)
        return (
            self.strategy,
            f"{self.requests}",
            f"{self.prompt:,}",
            f"{self.uncached:,}",
            f"{self.uncached / least.uncached:.2f}",
            f"${self.cost:.3f}",
            f"{self.cost / least.cost:.2f}",
            f"{self.left}",
            "-" if self.warned is None else f"{self.warned} of {self.left}",
            f"{self.looked_up}",
            f"{self.over_the_limit}",
            f"{found} of {self.planted}" if self.calls else "-",
        )


async def measured(name: str, strategy: str, context: int = CONTEXT) -> tuple[Found, list[Any]]:
    """The task done by the real agent, and the requests that it sent."""
    with tempfile.TemporaryDirectory() as place:
        root = Path(place)
        os.environ["NODWYN_HOME"] = str(root / "home")
        (root / "home").mkdir()
        rig, model, cache = Rig(root), Model(), CACHES[name]
        TASK.write(rig.workspace)
        # A prompt that leaves no room for the reply is refused.
        with cache.server([model], repeat=True, context=context - REPLY) as server:
            own = {"num_ctx" if server.provider == "ollama" else "context": context}
            rig.configure(
                server, strategy=strategy, fresh="auto", max_output=REPLY, max_result_tokens=CAP,
                price=PRICE,
                **own, **cache.settings,
            )  # fmt: skip
            await rig.open(mode="edits", allow=ALLOWED)
            for run, text in enumerate(TASK.asks):
                if run == RESUMED:
                    await rig.close()
                    await rig.open(mode="edits", allow=ALLOWED, resume="last")
                ended = await rig.ask(text)
                assert ended.why == "done", ended
            await rig.close()
        assert (rig.workspace / STOCK).read_text() == TASK.stock, "the task was not done"
        assert not server.violations, server.violations
        assert rig.of(ev.SessionResume), "it was opened again"
        assert rig.opened is not None
        folder = Path(rig.opened.log_path).parent
        calls, _ = await asyncio.to_thread(found_again, folder, TASK.planted)
        found = replace(figures(name, strategy, rig, server), looked_up=model.looked_up)
        return replace(found, calls=calls), [received.body for received in server.bodies]


def figures(name: str, strategy: str, rig: Rig, server: FakeServer) -> Found:
    """What the server counted, and what the log says became of windows."""
    resets = [event for event in rig.of(ev.WindowReset) if event.kind == "rollover"]
    trims = [request for request in rig.of(ev.LlmRequest) if request.elided]
    usages = [reply.usage for reply in rig.of(ev.LlmResponse)]
    return Found(
        cache=name,
        strategy=strategy,
        requests=len(server.bodies),
        prompt=sum(prompt for prompt, _ in server.reads),
        uncached=sum(prompt - cached for prompt, cached in server.reads),
        output=sum(usage.output_tokens or 0 for usage in usages),
        left=len(resets) + len(trims) + len(rig.of(ev.ContextOpen)),
        warned=sum(reset.flush_opportunity for reset in resets) if resets else None,
        over_the_limit=len(server.bodies) - len(server.reads),
        planted=len(TASK.planted),
    )


def little_by_little(whole: Found, bodies: Sequence[Any]) -> Found:
    """The same requests where the oldest results leave in place, one after the other, before each
    request that is over the mark at which ours trim.
    """
    cache, gone = PrefixCache("blocks"), set[str]()
    counted: list[Counted] = []
    trims = 0
    for body in bodies:
        before = len(gone)
        counted.append(cache.count(within(LINE, body, gone)))
        trims += len(gone) > before
    return replace(
        whole,
        strategy=LITTLE_BY_LITTLE,
        prompt=sum(each.prompt for each in counted),
        uncached=sum(each.prompt - each.cached for each in counted),
        left=trims,
        calls={},
    )


def within(line: int, body: Mapping[str, Any], gone: set[str]) -> Mapping[str, Any]:
    """A request without the results that are `gone`, by their calls, and without as many more as
    bring it below the line; those are gone from then on.
    """
    messages = [stub(m) if m.get("tool_call_id") in gone else m for m in body["messages"]]
    size = len(prompt_bytes({**body, "messages": messages})) // BYTES_A_TOKEN
    for at, message in enumerate(messages[:-PROTECTED]):
        made = message.get("tool_call_id")
        if size > line and made and made not in gone:
            gone.add(made)
            messages[at] = stub(message)
            size -= (len(json.dumps(message)) - len(json.dumps(messages[at]))) // BYTES_A_TOKEN
    return {**body, "messages": messages}


def stub(result: Mapping[str, Any]) -> Mapping[str, Any]:
    """What stands in a result's place."""
    return {**result, "content": "[removed]"}


def session(name: str, strategy: str) -> list[Found]:
    """A session's figures; with the least that can be read, those that are reckoned from it."""
    if strategy != LEAST:
        return [asyncio.run(measured(name, strategy))[0]]
    found, bodies = asyncio.run(measured(name, "trim", ENDLESS))
    assert not found.left, "every token was read once"
    least = replace(found, strategy=LEAST)
    return [least, little_by_little(least, bodies)] if name == HOSTED else [least]


def hosted(found: Sequence[Found]) -> str:
    """Every strategy in one cache, with all figures."""
    mine = [each for each in found if each.cache == HOSTED]
    (least,) = (each for each in mine if each.strategy == LEAST)
    return table([HEADINGS, *(each.row(least) for each in mine)])


def others(found: Sequence[Found]) -> str:
    """What is read anew in the other protocols' caches."""
    rows = [("cache", LEAST, *STRATEGIES)]
    for name in CACHES:
        uncached = {each.strategy: each.uncached for each in found if each.cache == name}
        least = uncached.pop(LEAST)
        shares = (f"{uncached[each]:,} ({uncached[each] / least:.2f})" for each in STRATEGIES)
        if name != HOSTED:
            rows.append((name, f"{least:,}", *shares))
    return table(rows)


def table(rows: Sequence[Sequence[str]]) -> str:
    head, *lines = rows
    rule = ["---", *["---:"] * (len(head) - 1)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, rule, *lines))


def main() -> None:
    each = [(name, strategy) for name in CACHES for strategy in (LEAST, *STRATEGIES)]
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        found = [row for rows in pool.map(session, *zip(*each, strict=True)) for row in rows]
    print(hosted(found), others(found), sep="\n\n")  # noqa: T201 - the output
    print("", *(json.dumps(asdict(one)) for one in found), sep="\n")  # noqa: T201 - the output


if __name__ == "__main__":
    main()
