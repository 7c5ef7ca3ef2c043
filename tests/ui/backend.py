"""A scripted worker in process: tells what a test says, and keeps what it was told."""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import TypeVar

from textual.pilot import Pilot

from nodwyn_tui.link import commands
from nodwyn_tui.link import events as up
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
        self.answers: dict[type, Callable[[commands.Command], Iterable[up.UpEvent]]] = {}
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


class Stage:
    """The real app on a scripted worker. `workers` are those that follow if the first one dies."""

    def __init__(self, *events: up.UpEvent, workers: int = 0) -> None:
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
        self.app = NodwynApp(self.bridge, self.clock)

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


async def settled(pilot: Pilot[object], count: int = 4) -> None:
    """Let messages and repaints that are due happen."""
    for _ in range(count):
        await pilot.pause()
