"""Long sessions made up event by event, the same ones every time: a person who asks, a model that
reads, searches, edits and runs tests, and a server that counts a prompt at three quarters of the
engine's estimate.
"""

import dataclasses
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nodwyn_tui.agent.prompt import SYSTEM
from nodwyn_tui.domain import events as ev
from nodwyn_tui.domain.parts import Call, Text, Thinking
from nodwyn_tui.domain.usage import Usage
from nodwyn_tui.store.lines import encode
from nodwyn_tui.tools.registry import default_tools
from nodwyn_tui.window.build import ORDINARY, Shape, Window
from nodwyn_tui.window.entries import fixed_tokens
from nodwyn_tui.window.rolling import Rolling
from nodwyn_tui.window.sizes import Wanted, limits
from tests.builders import MODEL, AnyEvent, LogBuilder

WORDS = (
    "frame", "parse", "order", "total", "value", "index", "table", "cache", "event", "batch",
    "store", "light", "paper", "stone",
)  # fmt: skip
STEPS_A_RUN = 10
REPORTED = 0.75


def session(
    requests: int, *, seed: int = 1, context: int = 131_072, version: int = 20, **limits: int
) -> list[ev.Event]:
    """A session of so many requests, a new message of the person's every tenth; `limits` are fields
    of its window. What is said and done in it depends on nothing but `seed`. Every request replays.
    """
    made = _Maker(seed, context, version, limits)
    for number in range(requests):
        if number % STEPS_A_RUN == 0:
            made.person()
        made.step(last=number % STEPS_A_RUN == STEPS_A_RUN - 1)
    return made.log.events


def write(path: Path, events: Sequence[ev.Event]) -> Path:
    """The log of a session, as a session writes it."""
    path.write_bytes(b"".join(map(encode, events)))
    return path


class _Log(LogBuilder):
    """Builds each window at the cost of what is new, as a session does."""

    def __init__(self, **changes: Any) -> None:
        self.rolling = Rolling()
        super().__init__(**changes)

    def add(self, draft: AnyEvent) -> AnyEvent:
        event = super().add(draft)
        self.rolling.feed(event)
        return event

    def request(self, shape: Shape = ORDINARY) -> tuple[ev.LlmRequest, Window]:
        window = self.rolling.window(self.recipe, shape)
        event = self.add(
            ev.LlmRequest(
                model=MODEL,
                parameters=ev.Parameters(),
                digest=window.digest,
                estimate=window.estimate,
                elided=window.newly,
            )
        )
        return event, window


class _Maker:
    def __init__(self, seed: int, context: int, version: int, changed: dict[str, int]) -> None:
        self.random = random.Random(seed)
        tools = tuple(tool.spec for tool in default_tools({}))
        window = limits(context, fixed_tokens(SYSTEM, tools), Wanted(max_output=8_192), None)
        self.log = _Log(
            version=version,
            system=SYSTEM,
            tools=tools,
            window=dataclasses.replace(window, **changed),
            num_ctx=context,
            max_output=window.output_reserve,
        )

    def person(self) -> None:
        self.log.user(self.text(self.random.randint(40, 900)))
        if self.log.run % 3 == 1:
            self.plan()

    def plan(self) -> None:
        items = tuple(ev.PlanItem(text=self.text(40)) for _ in range(4))
        text = "\n".join(f"- [ ] {item.text}" for item in items)
        self.log.add(ev.GatePlan(text=text, items=items))

    def step(self, *, last: bool) -> None:
        """A request, a reply, and the results of its calls."""
        request, window = self.log.request()
        thinking = Thinking(self.text(self.random.randint(100, 800)))
        said = Text(self.text(self.random.randint(60, 600)))
        calls = () if last else self.calls()
        reported = round(window.estimate * REPORTED)
        self.log.add(
            ev.LlmResponse(
                req=request.seq,
                parts=(thinking, said, *calls),
                finish="calls" if calls else "stop",
                usage=Usage(prompt_tokens=reported, output_tokens=self.random.randint(80, 900)),
            )
        )
        for call in calls:
            self.log.result(call.id, self.text(self.size(call)), name=call.name)
        if last:
            self.log.add(ev.RunEnd(why="done"))

    def calls(self) -> tuple[Call, ...]:
        count = self.random.choice((1, 1, 1, 2, 3))
        at = len(self.log.events)
        return tuple(self.call(f"call_{at}_{number}") for number in range(count))

    def call(self, id_: str) -> Call:
        path = f"src/{self.random.choice(WORDS)}.py"
        name, arguments = self.random.choice(
            (
                ("fs-read", f'{{"path":"{path}"}}'),
                ("fs-search", f'{{"pattern":"{self.random.choice(WORDS)}"}}'),
                (
                    "fs-edit",
                    f'{{"path":"{path}","old":"{self.text(200)}","new":"{self.text(300)}"}}',
                ),
                ("shell", '{"command":"make test"}'),
            )
        )
        return Call(id_, name, arguments)

    def size(self, call: Call) -> int:
        """Characters of a result."""
        most = {"fs-read": 24_000, "fs-search": 6_000, "fs-edit": 300, "shell": 12_000}[call.name]
        return self.random.randint(most // 20, most)

    def text(self, length: int) -> str:
        """Lines of words."""
        words: list[str] = []
        size = 0
        while size < length:
            words.append(self.random.choice(WORDS))
            size += len(words[-1]) + 1
        return " ".join(words) if length < 400 else _lines(words)


def _lines(words: Sequence[str]) -> str:
    return "\n".join(" ".join(words[at : at + 12]) for at in range(0, len(words), 12))
