"""Records the lab's sessions anew: `python -m tests.lab.record`, from the repository's root.

The real worker in process, against the fakes. What differs between two recordings (ids, times, the
workspace's path) and stands in no request is set to the same figures each time, so that a change of
a file is a change of behaviour. Needed where a recipe changes before it is released; later never:
old logs replay.
"""

import asyncio
import itertools
import os
import tempfile
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from nodwyn_tui.domain import events as ev
from nodwyn_tui.domain.canonical import sha256
from nodwyn_tui.link import commands
from nodwyn_tui.store.lines import encode
from nodwyn_tui.system.clock import stamp
from tests.agent.rig import Rig
from tests.fakes.chat_server import ChatServer
from tests.fakes.ollama_server import OllamaServer
from tests.fakes.script import Script, call, calls, error, say

SESSIONS = Path(__file__).parent / "sessions"
BEGAN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
SMALL = 24_000
"""A context in which sessions of a few files are trimmed."""

BESIDE = (ev.Approval, ev.ToolResult)

Scenario = Callable[[Rig], Awaitable[None]]


async def chat(rig: Rig) -> None:
    """Three short turns on a local server; no call."""
    script = [
        say("Good morning."),
        say("It is a port."),
        say("You are welcome.", thinking="polite"),
    ]
    with OllamaServer(script) as server:
        rig.configure(server, num_ctx=32_768)
        await rig.open()
        for text in ("good morning", "what is a harbour?", "thanks"):
            await rig.ask(text)
        await rig.close()


async def trims(rig: Rig) -> None:
    """Many reads in a small window: several trims, and one request that the server refused."""
    for number in range(12):
        _write(rig, f"part{number}.txt", f"line of part {number}, nothing special in it\n" * 180)
    script: list[Script] = []
    for run in range(4):
        script += [call("fs-read", {"path": f"part{run * 3 + step}.txt"}) for step in range(3)]
        script.append(say(f"I have read the files of run {run}.", thinking="what next?"))
    script.insert(14, error(400, _overflow()))
    with ChatServer(script, cache="blocks", context=SMALL) as server:
        rig.configure(server, context=SMALL)
        await rig.open()
        for run in range(4):
            await rig.ask(f"read the next three parts, run {run}")
        await rig.close()


async def parallel(rig: Rig) -> None:
    """Replies of several calls each, one of which fails."""
    for name in "abcd":
        _write(rig, f"{name}.txt", f"this is {name}\n" * 30)
    reads = [("fs-read", {"path": f"{name}.txt"}) for name in "abcd"]
    script = [
        calls(*reads),
        calls(("fs-list", {}), ("fs-read", {"path": "missing.txt"}), text="Once more."),
        say("All four are alike."),
        calls(*reads[:2]),
        say("Still."),
    ]
    with ChatServer(script, cache="blocks") as server:
        rig.configure(server, context=64_000)
        await rig.open()
        await rig.ask("compare the files")
        await rig.ask("are a and b still alike?")
        await rig.close()


async def resume(rig: Rig) -> None:
    """A session that a second process goes on with, and that is then cleared."""
    _write(rig, "a.txt", "first\n" * 200)
    script = [
        call("fs-read", {"path": "a.txt"}),
        say("It says first."),
        call("fs-read", {"path": "a.txt", "start": 1, "end": 2}),
        say("Twice."),
        say("Nothing yet."),
    ]
    with OllamaServer(script) as server:
        rig.configure(server, num_ctx=32_768)
        await rig.open()
        await rig.ask("what does a.txt say?")
        await rig.close()
        await rig.open(resume="last")
        await rig.ask("how often, in the first two lines?")
        rig.tell(commands.ClearWindow())
        await rig.ask("what did we do?")
        await rig.close()


async def plans(rig: Rig) -> None:
    """A plan written three times, and work between."""
    steps = ("read the notes", "change them", "look again")

    def plan(done: int) -> Mapping[str, object]:
        states = ["done"] * done + ["doing"] + ["todo"] * len(steps)
        return {
            "items": [
                {"text": text, "state": state} for text, state in zip(steps, states, strict=False)
            ]
        }

    _write(rig, "notes.txt", "buy bread\n")
    script = [
        call("plan-write", plan(0)),
        call("fs-read", {"path": "notes.txt"}),
        calls(
            ("plan-write", plan(1)),
            ("fs-edit", {"path": "notes.txt", "old": "bread", "new": "milk"}),
        ),
        calls(("fs-read", {"path": "notes.txt"}), ("plan-write", plan(2))),
        say("The notes say milk now."),
        say("No."),
    ]
    with ChatServer(script, cache="blocks") as server:
        rig.configure(server, context=64_000)
        await rig.open(mode="edits")
        await rig.ask("change the notes to milk")
        await rig.ask("anything else?")
        await rig.close()


SCENARIOS: Mapping[str, Scenario] = {
    scenario.__name__: scenario for scenario in (chat, trims, parallel, resume, plans)
}


async def record(name: str, folder: Path) -> bytes:
    """The log of a scenario, played in `folder`, whose `home` is `NODWYN_HOME`."""
    rig = Rig(folder)
    await SCENARIOS[name](rig)
    return b"".join(map(encode, levelled(rig.log(), name)))


def levelled(events: Sequence[ev.Event], name: str) -> list[ev.Event]:
    """The events with the ids, times and paths that every recording has."""
    session = f"{BEGAN:%Y%m%dT%H%M%SZ}-{sha256(name.encode())[:8]}"
    return [_levelled(event, session) for event in _in_one_order(events)]


def _in_one_order(events: Sequence[ev.Event]) -> list[ev.Event]:
    """Calls side by side end in an order of their own. Here the last one always ends first."""
    level: list[ev.Event] = []
    for _, some in itertools.groupby(events, lambda event: isinstance(event, BESIDE)):
        found = list(some)
        if isinstance(found[0], BESIDE):
            ordered = sorted(found, key=lambda event: event.call_id, reverse=True)
            ordered.sort(key=lambda event: event.type)
            found = [replace(to, seq=at.seq) for to, at in zip(ordered, found, strict=True)]
        level += found
    return level


def _levelled(event: ev.Event, session: str) -> ev.Event:
    event = replace(event, at=stamp(BEGAN + timedelta(seconds=event.seq)))
    match event:
        case ev.SessionStart() | ev.SessionResume() | ev.SessionRecipe():
            return replace(event, session=session, workspace="/home/you/project")
        case ev.LlmRequest():
            key = event.parameters.session_key and sha256(session.encode())
            return replace(event, parameters=replace(event.parameters, session_key=key))
        case ev.LlmResponse():
            usage = replace(event.usage, prompt_eval_ms=None, eval_ms=None)
            return replace(event, ms=None, first_token_ms=None, usage=usage)
        case ev.ToolResult():
            return replace(event, ms=None)
        case _:
            return event


def _write(rig: Rig, name: str, text: str) -> None:
    (rig.workspace / name).write_text(text)


def _overflow() -> Mapping[str, object]:
    message = "This model's maximum context length is 24000 tokens"
    return {"error": {"message": message, "code": "context_length_exceeded", "type": "invalid"}}


def main() -> None:
    """Records every scenario into `sessions`."""
    SESSIONS.mkdir(exist_ok=True)
    for name in SCENARIOS:
        with tempfile.TemporaryDirectory() as place:
            home = Path(place) / "home"
            home.mkdir()
            os.environ["NODWYN_HOME"] = str(home)
            (SESSIONS / f"{name}.jsonl").write_bytes(asyncio.run(record(name, Path(place))))


if __name__ == "__main__":
    main()
