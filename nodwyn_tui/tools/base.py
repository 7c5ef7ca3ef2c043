"""What a tool is, and the ports it works through. A tool knows no other room: whatever it needs
from one is a `Protocol` here, filled by `agent/toolbox.py`.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol, TypeVar

from pydantic import BaseModel

from nodwyn_tui.domain.events import ImageRef, PlanItem
from nodwyn_tui.domain.request import ToolSpec
from nodwyn_tui.domain.words import MemoryFile

Effect = Literal["read", "write", "shell", "state", "note"]
"""What a call may do: `read` looks, `write` changes files, `shell` runs a command, `state` changes
only what the session keeps (a plan), `note` what the model keeps for itself beyond it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What the person is shown before a call runs: for a write the exact diff, for a shell call the
    exact command. `touches` are workspace-relative paths it may change; `subject` is what a
    pattern's glob is matched with; `secret` says that it reads or writes a known secret file,
    `outside` a path outside the workspace: both ask in every mode. `paths` are the true, absolute
    paths that a file tool will open, and no others once this was allowed. `effect` is this call's,
    where it does less than its tool can.
    """

    title: str
    subject: str = ""
    diff: str = ""
    command: str = ""
    touches: tuple[str, ...] = ()
    secret: bool = False
    outside: bool = False
    paths: tuple[str, ...] = ()
    effect: Effect | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a call gave. `text` is complete and clean (AGT-7), never blank; `lines` counts what the
    tool gave, before any cut; `changed` are workspace-relative paths that were written; `artifact`
    the file's name that holds an over-long result whole; `diff` is for the screen only; `images` go
    to the model with the text (IMG-8).
    """

    text: str
    is_error: bool = False
    lines: int | None = None
    changed: tuple[str, ...] = ()
    artifact: str | None = None
    diff: str = ""
    images: tuple[ImageRef, ...] = ()


class Interrupted(asyncio.CancelledError):
    """The `CancelledError` of a call that had begun: `outcome` is what it gave until then, and what
    it could not end (C51). Who took it raises a plain one: `asyncio.timeout` knows no other.
    """

    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome
        super().__init__(outcome.text)


class Files(Protocol):
    """The workspace as the file tools see it (AGT-9)."""

    root: Path
    extra: Sequence[Path]

    @property
    def read_budget(self) -> int:
        """Tokens a ranged read may give, so that the window never cuts it (ENG-17)."""
        ...

    def seen(self, path: Path, digest: str) -> None:
        """A file was read or written whole: its content's SHA-256."""
        ...

    def last_seen(self, path: Path) -> str | None:
        """The digest the model knows of a file; `None` if it never read it."""
        ...

    def markers(self) -> bool:
        """Whether the model was shown redaction markers (ENG-6)."""
        ...


class History(Protocol):
    """The session's log, for `session_history` (ROL-11). What it gives is clean, and ends within
    what the window shows of it.
    """

    def list_windows(self, cursor: str, limit: int) -> str:
        """The windows that may be looked into, the latest first, `limit` at most; from `cursor`
        on, which an earlier answer gave ('' for the first). `ToolError` for a cursor that is no
        good.
        """
        ...

    def search(self, query: str, window: str, cursor: str, limit: int) -> str:
        """Items in which `query` stands, whatever its case, of `window` (`w:<seq>`) or of all (''),
        framed as historical data; `cursor` likewise.
        """
        ...

    def read_item(self, item: str, offset: int, limit: int) -> str:
        """The text of item `i:<seq>` from code point `offset` on, `limit` at most, framed as
        historical data; `ToolError` for a wrong item.
        """
        ...


class Artifacts(Protocol):
    """Where an over-long result is kept whole."""

    def open(self, name: str) -> tuple[str, Path]:
        """A new file's name and path, for a tool that writes while it runs."""
        ...

    def finish(self, name: str) -> None:
        """The file is whole: credentials are taken out of it. The tool calls it (SEC-1)."""
        ...


class Plan(Protocol):
    """The plan of the session."""

    def write(self, items: Sequence[PlanItem]) -> None: ...


class Memory(Protocol):
    """What lasts beyond the session (ORD-10). All raise `ToolError` where it can't be read or
    written, and wait for others that write: call them in a thread.
    """

    def read(self, file: MemoryFile) -> str:
        """What stands in a file, the workspace's and the person's, each framed; '' for nothing."""
        ...

    def addition(self, file: MemoryFile, text: str) -> str:
        """The dated line that `add` would write, without keys; '' where it stands there already."""
        ...

    def add(self, file: MemoryFile, text: str) -> bool:
        """Adds an item to the workspace's file; false where it stands there already."""
        ...

    def write(self, file: MemoryFile, text: str) -> None:
        """The workspace's file anew."""
        ...


class Skills(Protocol):
    """Skills that can be taken up (ORD-10)."""

    def use(self, name: str) -> str:
        """Takes a skill up for the session; what the model is told of it. `ToolError` for one that
        is not there, or can't be read.
        """
        ...


class Pictures(Protocol):
    """Images for a model that takes them (IMG-8)."""

    def take(self, data: bytes, name: str) -> tuple[ImageRef, str]:
        """Keeps the image that a file holds, and tells what was done to it. `ToolError` for what is
        none, or cannot be read. It decodes: call it in a thread.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What a call works with. `progress` takes the latest line of a running call's output;
    `granted` is the ask that was allowed, by the person or by rule: without it nothing outside the
    workspace and no secret file is opened (AGT-9). `pictures` is `None` for a model without sight.
    """

    files: Files
    history: History
    artifacts: Artifacts
    plan: Plan
    memory: Memory
    skills: Skills
    progress: Callable[[str], None] = field(default=lambda _line: None)
    granted: Ask | None = None
    pictures: Pictures | None = None


Arguments = TypeVar("Arguments", bound=BaseModel)


class Tool(Protocol[Arguments]):
    """A tool: `spec` is what the model sees (frozen for the session), `arguments` validates what
    it sent. `describe` looks and changes nothing; it raises `ToolError` where the call cannot work
    at all, and so spares the person the question. `run` raises `ToolError`, or
    `asyncio.CancelledError` (an `Interrupted` where it has something to tell) after it ended
    whatever it had started.
    """

    spec: ToolSpec
    arguments: type[Arguments]
    effect: Effect

    async def describe(self, arguments: Arguments, context: Context) -> Ask: ...

    async def run(self, arguments: Arguments, context: Context) -> Outcome: ...
