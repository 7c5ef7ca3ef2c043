"""What a step costs the engine: the next window, its digest, and what the cache should hold of it;
grown from the one before, against built from scratch (ENG-27, PERF-4). Prints a table; nothing here
can fail on a slow day.

    python tests/bench/bench_engine.py
"""

import dataclasses
import statistics
import time

from nodwyn_tui.domain import events as ev
from nodwyn_tui.domain.parts import Call, Text
from nodwyn_tui.domain.recipe import CURRENT_VERSION, Recipe, WindowLimits
from nodwyn_tui.window.build import Window, build
from nodwyn_tui.window.prefix import Cache, New, Prediction, predict
from nodwyn_tui.window.prompts import Sent, prompt_of, remember, sent
from nodwyn_tui.window.rolling import Rolling
from nodwyn_tui.window.watch import Watch

SIZES = (10_000, 100_000, 1_000_000)
STEPS, SCRATCH = 100, 10
LINE = "    value = compute(1, 'text') or None  # a line of code\n"
HEADINGS = ("tokens", "messages", "grown ms", "p95", "scratch ms", "p95", "times")


MODEL = ev.ModelRef(name="m", server="s", provider="openai", id="m-1", origin="s/m-1")
PARAMETERS = ev.Parameters()


def recipe(tokens: int) -> Recipe:
    """A window that many steps beyond `tokens` do not fill, with a prompt and tools as ours are."""
    limits = WindowLimits(
        high_water=tokens * 9,
        low_water=tokens,
        ceiling=tokens * 9,
        max_result_tokens=16_000,
        output_reserve=8_000,
    )
    return Recipe(
        version=CURRENT_VERSION,
        system="You help in this repository. " * 300,
        tools=(),
        window=limits,
        num_ctx=tokens * 9,
        max_output=8_000,
    )


class Session:
    """A session that reads files, a step a request; every tenth step the person says something."""

    def __init__(self, tokens: int) -> None:
        self.recipe = recipe(tokens)
        self.events: list[ev.Event] = []
        self.rolling, self.steps = Rolling(), 0
        self.earlier: list[Sent] = []
        self.watch = Watch()
        self.result = LINE * min(max(tokens // 3_000, 1), 80)
        self.add(ev.SessionStart(session="s", workspace="w", app="t", recipe=self.recipe))
        self.add(ev.UserMessage(text="go"))
        while self.rolling.window(self.recipe).estimate < tokens:
            self.step()

    def add(self, draft: ev.Event) -> None:
        self.events.append(dataclasses.replace(draft, seq=len(self.events) + 1))

    def step(self) -> float:
        """A reply with a call, its result, and the next request; the seconds that cost the
        engine.
        """
        self.steps += 1
        before = len(self.events)
        call = Call(f"c{self.steps}", "fs-read", f'{{"path":"src/{self.steps}.py"}}')
        parts = Text("Looking further."), call
        self.add(ev.LlmResponse(req=before, parts=parts, finish="calls"))
        self.add(ev.ToolResult(call_id=call.id, name=call.name, text=self.result))
        if self.steps % 10 == 0:
            self.add(ev.UserMessage(text="Go on with the next file, please."))
        began = time.perf_counter()
        for event in self.events[0 if before == 2 else before :]:
            self.rolling.feed(event)
            self.watch.feed(event)
        window = self.rolling.window(self.recipe)
        digest, _ = window.digest, self.predict(window)
        took = time.perf_counter() - began
        request = ev.LlmRequest(
            seq=len(self.events) + 1,
            model=MODEL,
            parameters=PARAMETERS,
            digest=digest,
            estimate=window.estimate,
        )
        self.events.append(request)
        self.rolling.feed(request)
        self.watch.feed(request)
        self.earlier = remember(self.earlier, sent(request, prompt_of(window), window.estimate))
        self.watch.keep({sent.seq for sent in self.earlier})
        return took

    def predict(self, window: Window) -> Prediction:
        new = New(prompt=prompt_of(window), origin=MODEL.origin, parameters=PARAMETERS)
        return predict(self.earlier, new, self.watch, Cache())

    def scratch(self) -> float:
        """Seconds for the same from nothing."""
        began = time.perf_counter()
        window = build(self.events, self.recipe)
        assert window.digest
        self.predict(window)
        return time.perf_counter() - began


def figures(seconds: list[float]) -> tuple[str, str]:
    """Median and 95th percentile, in milliseconds."""
    p95 = statistics.quantiles(seconds, n=20)[-1]
    return f"{statistics.median(seconds) * 1000:.2f}", f"{p95 * 1000:.2f}"


def row(tokens: int) -> tuple[str, ...]:
    session = Session(tokens)
    grown = [session.step() for _ in range(STEPS)]
    scratch = [session.scratch() for _ in range(SCRATCH)]
    window = session.rolling.window(session.recipe)
    ratio = statistics.median(scratch) / statistics.median(grown)
    size = f"{window.estimate:,}", f"{len(window.entries):,}"
    return (*size, *figures(grown), *figures(scratch), f"{ratio:.0f}")


def main() -> None:
    for cells in (HEADINGS, *map(row, SIZES)):
        print(*(cell.rjust(11) for cell in cells), sep="")  # noqa: T201 - the output


if __name__ == "__main__":
    main()
