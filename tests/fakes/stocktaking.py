"""A task that is longer than a window, and a model at work on it that remembers nothing: what it
does next it reads from the request, and what has left that it looks up, as a real one has to.

Each register names a ship's berth, and another ship, of an earlier register, whose berth is to be
entered too. Every fourth one has a log so long that no window shows its middle, where another
ship's berth stands.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nodwyn_tui.window import handover, lead_in
from tests.fakes.recall import Fact, facts
from tests.fakes.script import Item, Say, call, say

STOCK = "stock.txt"
NEAR, FAR = 2, 11
"""How many registers back the other ship's is: FAR for every other one that has so many before."""
LOG_EVERY = 4
END = 3
"""Messages at a request's end among which the latest answer is."""
NOTED = 5
"""Berths that a note names: those of the latest registers in sight."""

_NOT_SAID = ("system", "developer")
_TEXT_FIELDS = {"content", "text", "output"}
_CALL_FIELDS = {"content", "tool_calls", "function"}

_BERTH = re.compile(r"berth of the ship (\w+) is ([0-9a-f]{8})")
_BESIDE = "In register {number:02} the ship {ship} lies beside the ship {other}."
_NEXT = re.compile(r"In register (\d+) the ship (\w+) lies beside the ship (\w+)\.")
_ENTERED = re.compile(r"Entered register (\d+)\.")
_ASKED = re.compile(r"registers \d+ to (\d+)")
_WARNED = lead_in.WARNING.partition("{")[0]
_ASKS = (handover.REQUEST.partition(".")[0], handover.NO_CALLS.partition(":")[2])
_BEGINS_ANEW = lead_in.BEHIND.partition(".")[0]


@dataclass(frozen=True, slots=True)
class Task:
    """`registers` of so many characters each, entered in `runs`; a log has `log` characters."""

    registers: int
    runs: int
    size: int
    log: int

    @property
    def planted(self) -> Sequence[Fact]:
        """The berths that are told, each once: the registers', then the logs'."""
        return facts()[: self.registers + self.registers // LOG_EVERY]

    @property
    def asks(self) -> Iterator[str]:
        """What the person says, run by run."""
        each = -(-self.registers // self.runs)
        for first in range(1, self.registers + 1, each):
            last = min(first + each - 1, self.registers)
            yield (
                f"Enter the registers {first} to {last}, in order: read each, and its log where it"
                f" has one, and add a line to {STOCK} with its ship and the berth of the ship that"
                " it lies beside. Ask me nothing."
            )

    def write(self, folder: Path) -> None:
        """The registers and logs."""
        planted = self.planted
        for number, fact in enumerate(planted[: self.registers], 1):
            words = _BESIDE.format(number=number, ship=fact.ship, other=self._beside(number).ship)
            head = f"Register {number:02}\nThe {_told(fact)}.\n{words}\n"
            (folder / f"register-{number:02}.txt").write_text(_filled(head, "", self.size))
        for number, fact in enumerate(planted[self.registers :], 1):
            text = _filled(f"Log {number * LOG_EVERY:02}\n", f"The {_told(fact)}.\n", self.log)
            (folder / f"log-{number * LOG_EVERY:02}.txt").write_text(text)

    @property
    def stock(self) -> str:
        """What the file has to say in the end."""
        return "".join(
            f"{number:02} {fact.ship} {self._beside(number).berth}\n"
            for number, fact in enumerate(self.planted[: self.registers], 1)
        )

    def _beside(self, number: int) -> Fact:
        back = FAR if number % 2 and number > FAR else NEAR
        return self.planted[max(number - back, 1) - 1]


class Model:
    """A script's item: each reply follows from the request alone. `looked_up` counts the calls that
    were made for what the request no longer showed.
    """

    def __init__(self) -> None:
        self.looked_up = 0

    def __call__(self, body: Mapping[str, Any]) -> Item:
        """The reply to a request of any protocol."""
        seen = Sight(body.get("messages") or body["input"])
        if any(words in seen.end for words in _ASKS):
            return say(seen.note())
        if seen.is_warned and not seen.has_called("context-notes"):
            text = seen.note()
            return call("memory", {"action": "write", "file": "context-notes", "text": text})
        if (wanted := self._next(seen)) is not None:
            return wanted
        return say(f"The registers up to {seen.goal} are entered.")

    def _next(self, seen: "Sight") -> Say | None:
        """The next call, `None` where all is done that was asked for."""
        if seen.begins_anew and not seen.has_called("Entered register"):
            return self._look_up(seen, "Entered register")
        number = seen.entered + 1
        if number > seen.goal:
            return None
        if (register := seen.register(number)) is None:
            return call("fs-read", {"path": f"register-{number:02}.txt"}, thinking=_thought(number))
        name = f"log-{number:02}.txt"
        if number % LOG_EVERY == 0 and not seen.has_called(name):
            return call("shell", {"command": f"cat {name}"})
        ship, other = register
        if (berth := seen.berths.get(other)) is None:
            return self._look_up(seen, f"berth of the ship {other} is")
        line = f"{number:02} {ship} {berth}"
        text = f"Entered register {number}."
        return call("shell", {"command": f"echo '{line}' >> {STOCK}"}, text=text)

    def _look_up(self, seen: "Sight", words: str) -> Say:
        """A search, and where that shows too little, the first item that it named."""
        self.looked_up += 1
        if words not in seen.last_call:
            return call("session_history", {"action": "search", "query": words, "limit": 3})
        item = next(iter(re.findall(r"(?m)^(i:\d+) ", seen.end)), "i:0")
        return call("session_history", {"action": "read_item", "item": item, "limit": 2_000})


class Sight:
    """What a request shows."""

    def __init__(self, messages: Sequence[Mapping[str, Any]]) -> None:
        said = [each for each in messages if each.get("role") not in _NOT_SAID]
        calls = list(_calls(said))
        # Behind the latest answer rows of fresh context may stand.
        self.end, self.last_call = "\n".join(_texts(said[-END:])), calls[-1] if calls else ""
        self._calls = "\n".join(calls)
        self._text = "\n".join((*_texts(said), *calls))
        self.berths = dict(_BERTH.findall(self._text))

    @property
    def entered(self) -> int:
        """The latest register that is said to be entered; 0 for none."""
        return max(map(int, _ENTERED.findall(self._text)), default=0)

    @property
    def goal(self) -> int:
        return max(map(int, _ASKED.findall(self._text)), default=0)

    @property
    def is_warned(self) -> bool:
        return _WARNED in self._text

    @property
    def begins_anew(self) -> bool:
        return _BEGINS_ANEW in self._text

    def register(self, number: int) -> tuple[str, str] | None:
        """The ship of a register and the one beside it, where it is in sight."""
        return self._registers.get(number)

    @property
    def _registers(self) -> dict[int, tuple[str, str]]:
        return {int(n): (ship, other) for n, ship, other in _NEXT.findall(self._text)}

    def has_called(self, words: str) -> bool:
        """Whether a call with these words is in sight."""
        return words in self._calls

    def note(self) -> str:
        """What is worth keeping: how far it is, and a few facts."""
        latest = [ship for _, (ship, _) in sorted(self._registers.items())[-NOTED:]]
        told = "".join(f"- {_told(Fact(s, self.berths[s], ''))}\n" for s in latest)
        return (
            f"Entered register {self.entered}. The registers up to {self.goal} are to be entered,"
            f" each as a line of {STOCK}: its number, its ship, and the berth of the ship it lies"
            " beside. A log goes with every fourth. The next step is the next register. Berths of"
            f" the latest ones:\n{told}Others are in the session's history."
        )


def _texts(value: Any) -> Iterator[str]:
    """What is said in messages and results, as the protocols nest it."""
    match value:
        case str():
            yield value
        case Sequence():
            for each in value:
                yield from _texts(each)
        case Mapping():
            for name in _TEXT_FIELDS & value.keys():
                yield from _texts(value[name])


def _calls(value: Any) -> Iterator[str]:
    """The arguments of calls, likewise."""
    match value:
        case Sequence() if not isinstance(value, str):
            for each in value:
                yield from _calls(each)
        case Mapping() if (given := value.get("arguments", value.get("input"))) is not None:
            yield given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
        case Mapping():
            yield from _calls([value[name] for name in _CALL_FIELDS & value.keys()])
        case _:
            pass


def _told(fact: Fact) -> str:
    return f"berth of the ship {fact.ship} is {fact.berth}"


def _thought(number: int) -> str:
    return f"Register {number} is next: its ship first, then the one beside it. " * 3


def _filled(head: str, middle: str, size: int) -> str:
    """A text of about `size` characters, with `middle` in its middle."""
    line = "at {:05} a boat went by, as boats do, and nobody took note of it\n"
    count = max((size - len(head) - len(middle)) // len(line.format(0)), 0)
    lines = [line.format(number) for number in range(count)]
    return "".join((head, *lines[: count // 2], middle, *lines[count // 2 :]))
