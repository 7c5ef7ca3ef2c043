"""A scripted worker in process: tells what a test says, and keeps what it was told."""

import asyncio
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import TypeVar

from textual import events
from textual.keys import _character_to_key
from textual.pilot import Pilot

from nodwyn_tui.domain.words import Pictures
from nodwyn_tui.link import commands
from nodwyn_tui.link import events as up
from nodwyn_tui.link.images import Attach, AttachRefused
from nodwyn_tui.link.local import LocalLink
from nodwyn_tui.ui.app import NodwynApp
from nodwyn_tui.ui.bridge import Bridge
from nodwyn_tui.ui.screens.conversation import Conversation

T = TypeVar("T")

OPENED = up.Opened(
    session="20250102-030405-ab12",
    workspace="/src/app",
    branch="main",
    model="qwen3-coder:30b",
    server="ollama",
    provider="ollama",
    sandboxed=True,
)
OPEN = commands.Open(workspace="/src/app")


class StillClock:
    """A clock that moves when it is told to."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def now(self) -> datetime:
        return datetime(2025, 1, 2, 3, 4, 5, tzinfo=UTC)

    def monotonic(self) -> float:
        return self.seconds


class Backend:
    """One worker's life. `answers` are sent when a command of that kind comes down."""

    def __init__(self) -> None:
        self.link = LocalLink()
        self.told: list[commands.Command] = []
        self.answers: dict[type, Callable[[commands.Command], Iterable[up.UpEvent]]] = {
            Attach: _no_image
        }
        send = self.link.send

        def heard(command: commands.Command) -> None:
            self.told.append(command)
            send(command)
            for event in self.answers.get(type(command), lambda _: ())(command):
                self.link.emit(event)
            if isinstance(command, commands.Close):
                self.link.emit(up.Closed(session=OPENED.session))
                self.link.end()

        self.link.send = heard  # type: ignore[method-assign]

    def tell(self, *events: up.UpEvent) -> None:
        for event in events:
            self.link.emit(event)

    def die(self) -> None:
        self.link.end()

    def of(self, kind: type[T]) -> list[T]:
        return [command for command in self.told if isinstance(command, kind)]


def _no_image(asked: commands.Command) -> list[up.UpEvent]:
    assert isinstance(asked, Attach)
    return [AttachRefused(text=asked.text, reason="there is no such file" if asked.sure else "")]


class Stage:
    """The real app on a scripted worker. `workers` are those that follow if the first one dies."""

    def __init__(
        self,
        *events: up.UpEvent,
        workers: int = 0,
        no_color: bool = False,
        pictures: Pictures = "halves",
    ) -> None:
        self.clock = StillClock()
        self.backends = [Backend() for _ in range(1 + workers)]
        self._next = iter(self.backends[1:])
        self.backend.tell(*events)
        self.bridge = Bridge(
            self.backend.link,
            OPEN,
            self.clock,
            (lambda: next(self._next).link) if workers else None,
        )
        self.app = NodwynApp(self.bridge, self.clock, no_color=no_color, pictures=pictures)

    @property
    def backend(self) -> Backend:
        return self.backends[0]

    @property
    def screen(self) -> Conversation:
        return self.app.conversation

    def text(self) -> str:
        """What the screen on top shows, row by row."""
        lines = self.app.screen._compositor.render_strips()
        return "\n".join("".join(s.text for s in line).rstrip() for line in lines)


CHARACTERS = {"enter": "\r", "tab": "\t", "space": " ", "slash": "/", "backslash": "\\"}


async def press(pilot: Pilot[object], *keys: str) -> None:
    """Keys, each dealt with before the next; `Pilot.press` takes a tenth of a second for one."""
    for key in keys:
        character = CHARACTERS.get(key, key if len(key) == 1 else None)
        name = _character_to_key(key) if len(key) == 1 else key
        pilot.app.post_message(events.Key(name, character))
        await quiet(pilot)


async def quiet(pilot: Pilot[object]) -> None:
    """Wait until no message waits anywhere, and what is loaded after the first paint is there."""
    calm = 0
    while calm < 6:
        await asyncio.sleep(0)
        pumps = [pilot.app, *pilot.app.screen_stack, *pilot.app.conversation.walk_children()]
        loads = any(worker.name == "load" for worker in pilot.app.workers)
        calm = calm + 1 if all(pump._message_queue.empty() for pump in pumps) else 0
        if loads:
            await asyncio.sleep(0.005)
            calm = 0


async def settled(pilot: Pilot[object], seconds: float = 0.04) -> None:
    """Let messages, layouts and repaints that are due happen."""
    for _ in range(2):
        await quiet(pilot)
        await asyncio.sleep(seconds / 2)
    await quiet(pilot)


class Pages:
    """A long story that is told by pages of `size` entries, as the worker tells it."""

    def __init__(self, entries: Iterable[up.Entry], size: int) -> None:
        self.entries, self.size = list(entries), size

    def latest(self) -> up.EntriesLoaded:
        """What is told at the opening."""
        page, earlier = self._last(self.entries)
        return up.EntriesLoaded(entries=page, done=True, earlier=earlier)

    def answer(self, command: commands.Command) -> list[up.UpEvent]:
        """The page that a command asks for."""
        assert isinstance(command, commands.FetchPage)
        assert not (command.before and command.after)
        if command.before:
            page, more = self._last([made for made in self.entries if made.seq < command.before])
        else:
            behind = [made for made in self.entries if made.seq > command.after]
            last = behind[: self.size][-1].seq if behind else 0
            page = tuple(made for made in behind if made.seq <= last)
            more = len(page) < len(behind)
        return [up.PageLoaded(entries=page, before=command.before, after=command.after, more=more)]

    def _last(self, entries: list[up.Entry]) -> tuple[tuple[up.Entry, ...], bool]:
        first = entries[-self.size :][0].seq if entries else 0
        page = tuple(made for made in entries if made.seq >= first)
        return page, len(page) < len(entries)
