"""A worker in process with a front that a test drives: the real thing but for the screen."""

import asyncio
import json
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, TypeVar

import tomli_w

from nodwyn_tui.domain import events as ev
from nodwyn_tui.link import commands
from nodwyn_tui.link import events as up
from nodwyn_tui.link.local import Back, LocalLink
from nodwyn_tui.store.log import Log
from nodwyn_tui.wiring import work
from tests.fakes.server import FakeServer

PATIENCE_S = 20.0
Kind = TypeVar("Kind")


class Rig:
    """One workspace, one configuration, and the worker that is open in it."""

    def __init__(self, folder: Path) -> None:
        self.workspace, self.home = folder / "ws", folder / "home"
        self.workspace.mkdir(exist_ok=True)
        self.events: list[up.UpEvent] = []
        self.link = LocalLink()
        self.opened: up.Opened | None = None
        self._seen = 0
        self.serve: Callable[[Back], Coroutine[Any, Any, None]] = work
        """The worker at the other end of the link."""
        self._tasks: list[asyncio.Task[Any]] = []
        self._news = asyncio.Event()

    def configure(self, server: FakeServer, *others: FakeServer, **model: Any) -> None:
        """Models `m`, `m2`, … on the servers; `model` holds fields of every entry. No fresh context
        is sent but where a test is about it, and sets `fresh`.
        """
        value: dict[str, Any] = {"model": "m", "servers": {}, "models": {}}
        for number, each in enumerate((server, *others), 1):
            name = "m" if number == 1 else f"m{number}"
            where = {"provider": each.provider, "base_url": each.base_url}
            value["servers"][f"fake{number}"] = where
            value["models"][name] = {
                "server": f"fake{number}",
                "model": each.model,
                "fresh": "off",
                **model,
            }
        (self.home / "config.toml").write_bytes(tomli_w.dumps(value).encode())

    async def open(self, **fields: Any) -> up.Opened:
        """Starts a worker, and waits for its session."""
        self.link, self._seen = LocalLink(), len(self.events)
        worker = asyncio.create_task(self.serve(self.link))
        link = self.link
        worker.add_done_callback(lambda _: link.end())
        self._tasks = [worker, asyncio.create_task(self._listen(link))]
        self.link.send(commands.Open(workspace=str(self.workspace), **fields))
        async with asyncio.timeout(PATIENCE_S):
            while not (found := self.events[self._seen :]) or not isinstance(
                found[-1], up.Opened | up.Failed
            ):
                if any(isinstance(event, up.Opened) for event in found):
                    break
                self._raise_if_crashed()
                self._news.clear()
                await self._news.wait()
        if failed := [event for event in found if isinstance(event, up.Failed)]:
            raise AssertionError(f"Failed: {failed[0]}")
        self.opened = await self.until(up.Opened)
        return self.opened

    async def ask(self, text: str = "go") -> up.RunEnded:
        """Sends a message, and waits for the run's end."""
        self.link.send(commands.Send(text=text))
        return await self.until(up.RunEnded)

    def tell(self, command: commands.Command) -> None:
        self.link.send(command)

    async def until(self, kind: type[Kind], where: Callable[[Kind], bool] = lambda _: True) -> Kind:
        """The next event of a kind that was not waited for yet."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                while self._seen < len(self.events):
                    event = self.events[self._seen]
                    self._seen += 1
                    if isinstance(event, kind) and where(event):
                        return event
                self._raise_if_crashed()
                self._news.clear()
                await self._news.wait()

    async def close(self) -> None:
        """Ends the session in order."""
        self.link.send(commands.Close())
        await asyncio.wait_for(asyncio.gather(*self._tasks), PATIENCE_S)

    def log(self) -> Sequence[ev.Event]:
        """The events on the disk."""
        assert self.opened is not None
        return Log.read(Path(self.opened.log_path)).events

    def of(self, kind: type[Kind]) -> list[Kind]:
        """The events of a kind on the disk."""
        return [event for event in self.log() if isinstance(event, kind)]

    def told(self, kind: type[Kind]) -> list[Kind]:
        """What the front was told, of a kind."""
        return [event for event in self.events if isinstance(event, kind)]

    def _raise_if_crashed(self) -> None:
        for task in self._tasks:
            if task.done() and not task.cancelled() and task.exception():
                task.result()

    async def _listen(self, link: LocalLink) -> None:
        async for event in link.events():
            self.events.append(event)
            self._news.set()
        self._news.set()


def messages(server: FakeServer, number: int = -1) -> list[dict[str, Any]]:
    """The messages of a request that a fake received."""
    found: list[dict[str, Any]] = json.loads(server.bodies[number].content)["messages"]
    return found


def ids(server: FakeServer, number: int = -1) -> tuple[list[str], list[str]]:
    """The ids of calls and of results in a chat-completions request, in order."""
    sent = messages(server, number)
    calls = [call["id"] for message in sent for call in message.get("tool_calls", ())]
    return calls, [message["tool_call_id"] for message in sent if message["role"] == "tool"]
