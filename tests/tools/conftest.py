"""A workspace with the ports that tools work through, filled by the simplest real things."""

import asyncio
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from nodwyn_tui.domain.events import PlanItem
from nodwyn_tui.errors import ToolError
from nodwyn_tui.tools.base import Ask, Context, Outcome
from nodwyn_tui.tools.registry import default_tools, parse_arguments

CASES = Path(__file__).parent.parent / "cases" / "files"


@dataclass
class Kept:
    """A memory, as lines by file."""

    files: dict[str, list[str]] = field(default_factory=dict)

    def read(self, file: str) -> str:
        return "\n".join(self.files.get(file, ()))

    def addition(self, file: str, text: str) -> str:
        line = f"- 2026-11-30 {text}"
        return "" if line in self.files.get(file, ()) else line

    def add(self, file: str, text: str) -> bool:
        line = self.addition(file, text)
        self.files.setdefault(file, []).extend([line] if line else [])
        return bool(line)

    def write(self, file: str, text: str) -> None:
        self.files[file] = [text]


@dataclass
class Taken:
    """The skills that were taken up, of those there are."""

    known: tuple[str, ...] = ("release",)
    used: list[str] = field(default_factory=list)

    def use(self, name: str) -> str:
        if name not in self.known:
            raise ToolError(f"skill: there is none called {name!r}")
        self.used.append(name)
        return f"{name} is in use"


@dataclass
class Ports:
    """Files, history, artifacts and plan of one session, kept in memory and in a folder."""

    root: Path
    folder: Path
    extra: Sequence[Path] = ()
    read_budget: int = 6000
    known: dict[Path, str] = field(default_factory=dict)
    shown_markers: bool = False
    items: dict[str, str] = field(default_factory=dict)
    plan: list[PlanItem] = field(default_factory=list)
    finished: list[str] = field(default_factory=list)
    memory: Kept = field(default_factory=Kept)
    skills: Taken = field(default_factory=Taken)

    def seen(self, path: Path, digest: str) -> None:
        self.known[path] = digest

    def last_seen(self, path: Path) -> str | None:
        return self.known.get(path)

    def markers(self) -> bool:
        return self.shown_markers

    def list_windows(self, cursor: str, limit: int) -> str:
        return f"windows {cursor!r} {limit}"

    def search(self, query: str, window: str, cursor: str, limit: int) -> str:
        return f"search {query!r} {window!r} {cursor!r} {limit}"

    def read_item(self, item: str, offset: int, limit: int) -> str:
        return f"[historical data]\n{self.items[item][offset : offset + limit]}"

    def finish(self, name: str) -> None:
        self.finished.append(name)

    def open(self, name: str) -> tuple[str, Path]:
        self.folder.mkdir(exist_ok=True)
        return name, self.folder / name

    def write(self, items: Sequence[PlanItem]) -> None:
        self.plan = list(items)


@dataclass
class Desk:
    """Calls tools as the agent does: parse, describe, ask, run."""

    ports: Ports
    home: Path
    environment: dict[str, str]
    progress: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.tools = {tool.spec.name: tool for tool in default_tools(self.environment, skills=True)}

    @property
    def root(self) -> Path:
        return self.ports.root

    @property
    def context(self) -> Context:
        ports: Any = self.ports
        return Context(
            files=ports,
            history=ports,
            artifacts=ports,
            plan=ports,
            memory=ports.memory,
            skills=ports.skills,
            progress=self.progress.append,
        )

    async def ask(self, name: str, /, **arguments: Any) -> Ask:
        tool = self.tools[name]
        return await tool.describe(parse_arguments(tool, json.dumps(arguments)), self.context)

    async def run(self, name: str, /, *, agree: bool = False, **arguments: Any) -> Outcome:
        """One call; with `agree` the person allows whatever it asks."""
        tool = self.tools[name]
        given = parse_arguments(tool, json.dumps(arguments))
        context = self.context
        if agree:
            context = replace(context, granted=await tool.describe(given, context))
        return await tool.run(given, context)

    def put(self, name: str, content: bytes | str) -> Path:
        """A file of the workspace."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def case(self, name: str, to: str) -> Path:
        """An input of a case, copied into the workspace."""
        return self.put(to, (CASES / name).read_bytes())


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    root, home = tmp_path / "p", tmp_path / "person"
    root.mkdir()
    home.mkdir()
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8"}
    return Desk(Ports(root.resolve(), tmp_path / "artifacts"), home, environment)


@pytest.fixture
def plain_search(desk: Desk, tmp_path: Path) -> Desk:
    """The same desk where ripgrep is not installed."""
    empty = tmp_path / "no-programs"
    empty.mkdir()
    return Desk(desk.ports, desk.home, {**desk.environment, "PATH": str(empty)})


async def until(condition: Callable[[], bool], seconds: float = 30.0) -> None:
    """Waits for something that another process does; fails when it takes too long."""
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    while not condition():
        assert loop.time() < end, "it did not happen in time"
        await asyncio.sleep(0.02)
