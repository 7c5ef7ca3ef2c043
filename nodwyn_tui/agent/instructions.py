"""Files of standing instructions for assistants: `AGENTS.md`, else `CLAUDE.md`, of the person, of
the workspace and of folders in it (ORD-11). How one is found, read without harm, framed, and known
again in what the model was told. When a note tells of one is `instructing.py`'s.
"""

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from nodwyn_tui.domain.canonical import clean
from nodwyn_tui.errors import ToolError
from nodwyn_tui.tools.names import quoted
from nodwyn_tui.tools.nofollow import opened
from nodwyn_tui.tools.paths import Place
from nodwyn_tui.window.entries import BYTES_PER_TOKEN

NAMES = ("AGENTS.md", "CLAUDE.md")
"""Of one folder, the first that is there."""

MOST_BYTES = 12_000
"""Of one file; the rest is left out at a line's end, and said to be."""

SHARE = 8
"""No file takes more than this part of a small model's context."""

GONE = "[gone: what it said holds no more]"
NO_ROOM = "[not shown: what this window holds of such files is enough; fs-read shows it]"

CUT = "[cut here: the file has {size:,} bytes; fs-read shows the rest]"
_CUT = re.compile(r"\[cut here: the file has ([\d,]+) bytes; fs-read shows the rest\]\Z")
_END = re.compile(r"</(?=instructions)", re.IGNORECASE)
_FRAME = re.compile(r'<instructions file="((?:[^"\\\n]|\\.)*)">\n(.*?)\n</instructions>', re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A folder that may hold such a file. `shown` is its path as a frame has it ('' for the
    workspace's own); nothing outside of `inside` is read.
    """

    folder: Path
    shown: str
    inside: Path | None = None

    @property
    def is_nested(self) -> bool:
        """Whether it is a folder below the workspace's own."""
        return self.inside is not None and bool(self.shown)

    def file(self, name: str) -> str:
        """A file of it as a frame has it."""
        return f"{self.shown}/{name}" if self.shown else name


@dataclass(frozen=True, slots=True, kw_only=True)
class Instructions:
    """What a file says: the beginning of it at most, of `size` bytes in all."""

    file: str
    text: str
    size: int

    def said(self, most: int) -> str:
        """As a frame holds it: `most` bytes at most, cut at a line's end."""
        data = self.text.encode()
        if len(data) <= most and self.size <= MOST_BYTES:
            return self.text
        text = data[:most].decode("utf-8", "ignore")
        whole_lines = text[: text.rfind("\n") + 1]
        return (whole_lines or text) + CUT.format(size=self.size)

    def is_said_by(self, said: str, without_keys: Callable[[str], str]) -> bool:
        """Whether a frame says just this, wherever it was cut."""
        text = without_keys(self.text)
        if said == text:
            return self.size <= MOST_BYTES
        cut = _CUT.search(said)
        if cut is None or int(cut[1].replace(",", "")) != self.size:
            return False
        return text.startswith(said[: cut.start()])


@dataclass(frozen=True, slots=True)
class Unusable:
    """A file that is there and is not read, and why not."""

    file: str
    why: str


def with_instructions(system: str, person: Path, workspace: Path, context: int) -> str:
    """The system prompt with what the person's config folder and the workspace say, in this order,
    each framed with its path. `context` is the model's, in tokens.
    """
    found = (look(source) for source in sources(person, workspace))
    own = [
        frame(each.file, each.said(most_of(context)))
        for each in found
        if isinstance(each, Instructions)
    ]
    return "\n\n".join([system, *own])


def sources(person: Path, workspace: Path) -> tuple[Source, Source]:
    """Those that hold for the whole session."""
    return (
        Source(folder=person, shown=_name(str(person))),
        Source(folder=workspace, shown="", inside=workspace),
    )


def nested(workspace: Path, relative: str) -> Source:
    """A folder below the workspace's own, by its path in there, with `/`."""
    return Source(folder=workspace / relative, shown=_name(relative), inside=workspace)


def most_of(context: int) -> int:
    """The bytes that one file may take of a context of so many tokens."""
    return min(MOST_BYTES, context * BYTES_PER_TOKEN // SHARE)


def frame(file: str, said: str) -> str:
    """What a file says, with its path."""
    return f'<instructions file="{file}">\n{said}\n</instructions>'


def lines_of(said: str) -> str:
    """How much of a file a frame has, for the person: what is cut they would not know else."""
    cut = _CUT.search(said)
    if cut and not said[: cut.start()].endswith("\n"):
        return "only its beginning"
    count = said.count("\n") + (0 if cut else 1)
    return f"{'only the first ' if cut else ''}{count:,} {'line' if count == 1 else 'lines'}"


def frames(text: str) -> Iterator[tuple[str, str]]:
    """The files that are framed in a text, and what it has of each."""
    for found in _FRAME.finditer(text):
        yield found[1], found[2]


def look(source: Source) -> Instructions | Unusable | None:
    """What a folder says; `None` where it says nothing."""
    for name in NAMES:
        path = source.folder / name
        if os.path.lexists(path):
            try:
                return _read(source, path)
            except ToolError as error:
                file = source.file(name)
                return Unusable(file, str(error).removeprefix(f"{quoted(file)}: "))
            except (OSError, RuntimeError):  # a loop of links, or one that leads nowhere
                return Unusable(source.file(name), "it is a link that can't be followed")
    return None


def _read(source: Source, path: Path) -> Instructions | Unusable | None:
    """The file. With `inside`, nothing of a link that leads out of there or to a file of another
    name: a repository may bring one along, and what it leads to would go to the provider (SEC-4).
    The person's own links are theirs.
    """
    file, real = source.file(path.name), path.resolve(strict=True)
    base = source.inside.resolve() if source.inside else None
    if base is not None:
        if not (real.is_relative_to(base) and real.name in NAMES):
            return Unusable(file, "it is a link that leads elsewhere")
        folder = source.folder.resolve()
        if folder != real.parent and folder.is_relative_to(real.parent):
            return None  # an outer folder's own, which is told as that
    if not real.is_file():
        return Unusable(file, "it is no file")
    with opened(Place(path=real, base=base, relative=file, secret=False)) as stream:
        data, size = stream.read(MOST_BYTES), os.fstat(stream.fileno()).st_size
    if b"\0" in data:
        return Unusable(file, "it is no text")
    text = _END.sub(r"<\\/", clean(data.decode("utf-8-sig", "replace")).strip())
    return Instructions(file=file, text=text, size=size) if text else None


def _name(path: str) -> str:
    """A path that no frame is ended by; part by part, so that none is long enough to be cut."""
    shown = map(quoted, path.split("/"))
    return "/".join(part[1:-1] if part.startswith('"') else part for part in shown)
