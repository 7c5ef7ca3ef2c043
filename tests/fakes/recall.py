"""A long session with facts planted in it, and a plain way to find each again with the session's
own history (ROL-15).
"""

import asyncio
import json
import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from nodwyn_tui.agent.conversation import Conversation
from nodwyn_tui.agent.history import LogHistory
from nodwyn_tui.agent.ledger import Ledgers, ledger_of
from nodwyn_tui.domain import events as ev
from nodwyn_tui.domain.parts import Call, Text
from nodwyn_tui.store.lines import encode
from nodwyn_tui.store.log import Log
from nodwyn_tui.store.redact import Redactor
from nodwyn_tui.system.clock import SystemClock
from nodwyn_tui.tools.base import Context
from nodwyn_tui.tools.registry import parse_arguments
from nodwyn_tui.tools.session_history import SessionHistory
from tests.builders import MODEL, recipe

WINDOWS, FACTS = 20, 200
MOST_CALLS = 3
PLACES = ("message", "reply", "call", "result", "deep")
"""Where facts are planted; `deep` is behind 20,000 characters of a result, and its value not beside
its name.
"""
_SYLLABLES = ("ka", "lo", "mi", "ten", "ru", "vas", "ner", "do", "bel", "ish")


@dataclass(frozen=True, slots=True)
class Fact:
    """The berth of a ship, which was told once, in one place."""

    ship: str
    berth: str
    place: str


def facts() -> list[Fact]:
    """All that are planted, in order."""
    chance = random.Random(20)
    ships: dict[str, None] = {}
    while len(ships) < FACTS:
        ships["".join(chance.choices(_SYLLABLES, k=4)).capitalize()] = None
    return [
        Fact(ship, f"{chance.randrange(16**8):08x}", PLACES[number % len(PLACES)])
        for number, ship in enumerate(ships)
    ]


class Voyage:
    """Writes the session: in each window ten facts, what is done meanwhile, and other words about
    the ships of the window before.
    """

    def __init__(self, path: Path, steps: int, size: int) -> None:
        """`steps` a window, each with a result of up to `size` characters."""
        self._steps, self._size = steps, size
        self._seq = self._ctx = self._calls = 0
        self._chance = random.Random(15)
        self._file = path.open("wb")
        limits = {"high_water": 90_000, "low_water": 40_000, "ceiling": 120_000}
        made = recipe(**limits, max_result_tokens=3_072)
        self._add(ev.SessionStart(session="s", workspace="/w", app="t", recipe=made))

    def write(self, planted: list[Fact]) -> None:
        """All of it."""
        each = FACTS // WINDOWS
        before: list[Fact] = []
        for window in range(WINDOWS):
            told = planted[window * each : (window + 1) * each]
            self._window(told, before)
            before = told
            self._begin_anew(rollover=window % 2 == 0)
        self._add(ev.UserMessage(text="Now tell me the berths."))
        self._file.close()

    def _window(self, told: list[Fact], before: list[Fact]) -> None:
        waiting = list(told)
        for step in range(self._steps):
            if step % max(self._steps // len(told), 1) == 0 and waiting:
                self._plant(waiting.pop())
            self._step("cat notes", self._filler())
        for fact in waiting:
            self._plant(fact)
        for fact in before:
            self._add(ev.UserMessage(text=f"Nothing new about the ship {fact.ship} today."))

    def _plant(self, fact: Fact) -> None:
        text = f"the berth of the ship {fact.ship} is {fact.berth}"
        match fact.place:
            case "message":
                self._add(ev.UserMessage(text=f"Mind that {text}."))
            case "reply":
                self._add(ev.LlmResponse(req=1, parts=(Text(f"So {text}."),), finish="stop"))
            case "call":
                self._step(f"echo '{text}' >> berths", "ok")
            case "result":
                self._step("head register", f"{text}\n{self._filler()}")
            case _:
                long = "a line of the register\n" * 1_000
                words = f"Register of the ship {fact.ship}.\n" + "a detail\n" * 60
                self._step("cat register", f"{long}{words}Its berth is {fact.berth}.\n{long}")

    def _step(self, command: str, output: str) -> None:
        self._calls += 1
        call = Call(f"c{self._calls}", "shell", json.dumps({"command": command}))
        self._add(
            ev.LlmRequest(model=MODEL, parameters=ev.Parameters(), digest="0" * 64, estimate=9)
        )
        self._add(ev.LlmResponse(req=self._seq, parts=(Text("Next."), call), finish="calls"))
        self._add(
            ev.ToolCall(resp=self._seq, call_id=call.id, name=call.name, arguments=call.arguments)
        )
        self._add(ev.Approval(call_id=call.id, decision="allowed", scope="mode"))
        self._add(ev.ToolResult(call_id=call.id, name=call.name, text=output))

    def _filler(self) -> str:
        """Lines about ships in general."""
        lines = self._chance.randrange(self._size // 40 + 1)
        return "".join(
            f"berth {self._chance.random():.6f} of a ship that sails\n" for _ in range(lines)
        )

    def _begin_anew(self, *, rollover: bool) -> None:
        if rollover:
            self._add(ev.WindowReset(kind="rollover", rollover_id=str(self._seq)))
            self._add(ev.WindowLeadIn(rollover_id="r", text="The window began anew."))
            return
        parent, self._ctx = self._ctx, self._seq + 1
        self._add(ev.ContextOpen(id=self._ctx, parent=parent, kind="compaction", lasting=True))
        self._add(ev.Note(text="Berths were told.", audience="model", why="handover"))

    def _add(self, draft: ev.Event) -> None:
        self._seq += 1
        placed = replace(draft, seq=self._seq, at="2026-01-02T03:04:05.678Z", run=1, ctx=self._ctx)
        self._file.write(encode(placed))


class Finder:
    """Looks for facts as a model would that knows a ship's name, through the tool itself."""

    def __init__(self, conversation: Conversation) -> None:
        port: Any = LogHistory(conversation, lambda: b"k" * 32)
        none: Any = None
        self._context = Context(
            files=none, history=port, artifacts=none, plan=none, memory=none, skills=none
        )
        self._tool = SessionHistory()
        self.largest = 0
        """Bytes of the largest answer."""

    def calls_for(self, fact: Fact) -> int:
        """How many calls find it; 0 if three do not."""
        wanted: dict[str, Any] = {"action": "search", "query": f"ship {fact.ship}"}
        tried: set[str] = set()
        for call in range(1, MOST_CALLS + 1):
            answer = self._ask(wanted)
            if fact.berth in answer:
                return call
            hits = re.findall(r"(?m)^(i:\d+) result of [\w-]+, character (\d+)", answer)
            cursor = re.search(r'cursor "([^"]+)"', answer.split("\n", maxsplit=1)[0])
            if unread := [hit for hit in hits if hit[0] not in tried]:
                item, at = unread[0]
                tried.add(item)
                wanted = {"action": "read_item", "item": item, "offset": int(at), "limit": 2_000}
            elif cursor:
                wanted |= {"cursor": cursor[1]}
            else:
                return 0
        return 0

    def _ask(self, wanted: dict[str, Any]) -> str:
        arguments = parse_arguments(self._tool, json.dumps(wanted))
        text = asyncio.run(self._tool.run(arguments, self._context)).text
        self.largest = max(self.largest, len(text.encode()))
        return text


@contextmanager
def opened(folder: Path) -> Iterator[Finder]:
    """The session in a folder, opened as a worker opens it."""
    log, found = Log.open(folder, SystemClock(), Redactor(), Ledgers())
    with log:
        ledger = ledger_of(log.archive).copy()
        yield Finder(Conversation(log, found.events, ledger, lambda _: None, want_log=False))


def found_again(folder: Path, planted: Iterable[Fact]) -> tuple[dict[int, int], int]:
    """How many facts are found in one call, two, three, and not (0), in the session in a folder;
    and the bytes of the largest answer. Not from within a running loop.
    """
    with opened(folder) as finder:
        calls = Counter(finder.calls_for(fact) for fact in planted)
        return dict(calls), finder.largest
