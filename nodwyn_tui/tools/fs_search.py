"""`fs-search`: lines that match a regular expression, by ripgrep where it is installed, else by
`search_child`; both give the same form.
"""

import asyncio
import base64
import contextlib
import json
import os
import re
import shutil
import sys
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from nodwyn_tui.domain.request import Json
from nodwyn_tui.errors import ToolError
from nodwyn_tui.system import processes
from nodwyn_tui.tools.arguments import Model, spec_of
from nodwyn_tui.tools.base import Ask, Context, Effect, Outcome
from nodwyn_tui.tools.fs_list import NAMES_ARE_DATA
from nodwyn_tui.tools.fs_read import look, nearest
from nodwyn_tui.tools.globs import compiled
from nodwyn_tui.tools.ignoring import outer_rules
from nodwyn_tui.tools.names import quoted
from nodwyn_tui.tools.output import visible
from nodwyn_tui.tools.paths import Place, admit, locate
from nodwyn_tui.tools.secret_files import is_secret

PER_FILE = 30
TOTAL = 150
LONGEST_LINE = 240
TIME_LIMIT_S = 30.0
_LONGEST_RECORD = 4 * 1024 * 1024
_MOST_SAID = 20
_BEFORE = 80
"""Characters shown before a match far into a long line."""

_PACKAGE = str(Path(__file__).parents[2])


class SearchArguments(Model):
    """`path` is a folder or a file, the workspace by default; `glob` picks files."""

    pattern: str
    path: str | None = None
    glob: str | None = None


class FsSearch:
    """`text` is each file's path, its lines below as `NUMBER: LINE`, then a line with the counts.
    Secret files are passed over, unless one is the `path` itself.
    """

    effect: Effect = "read"
    arguments = SearchArguments

    def __init__(self, environment: Mapping[str, str], home: Path | None) -> None:
        self._environment = environment
        self._home = home
        self.spec = spec_of(
            "fs-search",
            "Search lines of files for a regular expression ((?i) ignores case), without ignored"
            " files. glob picks files, as in fs-glob.",
            SearchArguments,
        )

    async def describe(self, arguments: SearchArguments, context: Context) -> Ask:
        path = arguments.path or "."
        place = await asyncio.to_thread(locate, context.files, self._home, path)
        return look(f"Search for {quoted(arguments.pattern)} in", place)

    async def run(self, arguments: SearchArguments, context: Context) -> Outcome:
        if "\n" in arguments.pattern or not arguments.pattern:
            raise ToolError("pattern: give a regular expression for one line, without line ends.")
        place, root, ignored = await asyncio.to_thread(self._place, arguments, context)
        found = _Found(place, compiled(arguments.glob) if arguments.glob else None)
        program = shutil.which("rg", path=self._environment.get("PATH", os.defpath))
        commands = [_child(arguments.pattern, place, root)]
        if program:
            commands.insert(0, _ripgrep(program, arguments.pattern, place, ignored))
        for command in commands:
            await self._search(command, place, found)
            if not found.refusal:
                break
        if found.refusal:
            raise ToolError(
                f"pattern: no regular expression that can be searched for: {found.refusal}."
                " Put a backslash before a sign that is meant as it is, as in foo\\(."
            )
        return found.outcome(arguments.pattern)

    def _place(self, arguments: SearchArguments, context: Context) -> tuple[Place, Path, bool]:
        """The place to search, the workspace, and whether `.gitignore` leaves the place out."""
        root = Path(os.path.realpath(context.files.root))
        place = locate(context.files, self._home, arguments.path or ".")
        admit(place, context)
        if not place.path.is_dir() and not place.path.is_file():
            if os.path.lexists(place.path):
                raise ToolError(f"{place.shown} is no regular file.")
            raise ToolError(f"{place.shown}: no such file.{nearest(place)}")
        return place, root, place.path.is_dir() and outer_rules(place.path, root) is None

    async def _search(self, command: list[str], place: Place, found: "_Found") -> None:
        folder = place.path if place.path.is_dir() else place.path.parent
        environment = {**self._environment, "PYTHONPATH": _PACKAGE, "PYTHONIOENCODING": "utf-8"}
        try:
            process = await processes.start(command, folder=folder, environment=environment)
        except processes.CannotStart as error:
            raise ToolError(f"the search could not run: {error}") from error
        try:
            async with asyncio.timeout(TIME_LIMIT_S):
                found.refusal = await _follow(process, found)
        except TimeoutError:
            found.late = True
        finally:
            await process.end(grace_s=0)
            process.close()


def _ripgrep(program: str, pattern: str, place: Place, ignored: bool) -> list[str]:
    target = "./" if place.path.is_dir() else "./" + place.path.name
    rules = ["--no-ignore"] if ignored else ["--no-ignore-global", "--no-ignore-dot"]
    return [
        *(program, "--json", "--no-config", "--sort=path", "--hidden", "--crlf"),
        *("--no-require-git", *rules, "--glob=!.git/", "--glob=!.nodwyn/"),
        *(f"--max-count={PER_FILE + 1}", f"--regexp={pattern}", "--", target),
    ]


def _child(pattern: str, place: Place, root: Path) -> list[str]:
    module = "nodwyn_tui.tools.search_child"
    return [
        *(sys.executable, "-P", "-m", module),
        *(pattern, str(place.path), str(root), str(PER_FILE + 1)),
    ]


async def _follow(process: processes.Process, found: "_Found") -> str:
    """Gives the records to `found` until it has enough; returns why a pattern was refused."""
    said: list[str] = []
    async for line in _lines(process, found):
        if line.startswith(b"{"):
            found.take(line)
        elif len(said) < _MOST_SAID:
            said.append(line.decode("utf-8", "replace").strip())
        if found.full:
            return ""
    code = await process.wait()
    refused = code == 2 and not found.files and any("regex" in line for line in said)
    return visible(" ".join(said)[:300]) if refused else ""


async def _lines(process: processes.Process, found: "_Found") -> AsyncIterator[bytes]:
    """The lines of the output; one of megabytes is passed over and counted."""
    rest, over = b"", False
    while piece := await process.read():
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines[over:]:
            yield line
        over = over and not lines
        if over or len(rest) > _LONGEST_RECORD:
            found.unread += not over
            rest, over = b"", True


@dataclass(slots=True)
class _Found:
    """The matches so far. Lines of a file count once its end is told, unless it is binary."""

    place: Place
    glob: re.Pattern[str] | None
    files: list[tuple[str, list[str]]] = field(default_factory=list)
    secrets: int = 0
    unread: int = 0
    matches: int = 0
    late: bool = False
    refusal: str = ""
    _path: str | None = None
    _lines: list[str] = field(default_factory=list)

    @property
    def full(self) -> bool:
        return self.matches >= TOTAL

    def take(self, record: bytes) -> None:
        """Takes one line of the searcher's output."""
        with contextlib.suppress(json.JSONDecodeError, KeyError, IndexError):
            value = json.loads(record)
            match value["type"]:
                case "match":
                    self._match(value["data"])
                case "end":
                    self._end(value["data"]["binary_offset"] is not None)

    def _match(self, data: Json) -> None:
        path = os.fsdecode(_bytes(data["path"])).removeprefix("./")
        if self._path != path:
            self._path, self._lines = path, []
        start = data["submatches"][0]["start"] if data["submatches"] else 0
        self._lines.append(f"{data['line_number']}: {_cut(_bytes(data['lines']), start)}")

    def _end(self, binary: bool) -> None:
        path, lines = self._path, self._lines
        self._path, self._lines = None, []
        if path is None or binary or not lines:
            return
        if self.glob and not self.glob.fullmatch(path):
            return
        whole = self.place.path / path if self.place.path.is_dir() else self.place.path
        inner = whole.relative_to(self.place.base) if self.place.base else whole
        if not self.place.secret and is_secret(inner):
            self.secrets += 1
            return
        shown = lines[: min(PER_FILE, TOTAL - self.matches)]
        self.matches += len(shown)
        if len(lines) > len(shown):
            shown = [*shown, "[more matches in this file]"]
        relative = PurePosixPath(self.place.relative)
        name = relative / path if self.place.path.is_dir() else relative
        self.files.append((quoted(str(name)), shown))

    def outcome(self, pattern: str) -> Outcome:
        rows = [row for name, lines in self.files for row in (name, *lines)]
        if self.matches:
            files = len(self.files)
            last = f"[{self.matches} matches in {files} file{'s' * (files != 1)}; {NAMES_ARE_DATA}"
        else:
            last = f"[no match for {quoted(pattern)} in {self.place.shown}"
        if self.full:
            last += "; there may be more: use a narrower pattern, path or glob"
        if self.secrets:
            last += f"; {self.secrets} secret files that match are passed over"
        if self.late:
            last += f"; ended after {TIME_LIMIT_S:.0f} s: give a path"
        if self.unread:
            last += f"; {self.unread} matches in lines of megabytes are not shown"
        return Outcome(text="\n".join([*rows, last + "]"]), lines=len(rows) + 1)


def _bytes(value: Json) -> bytes:
    return value["text"].encode("utf-8") if "text" in value else base64.b64decode(value["bytes"])


def _cut(raw: bytes, start: int) -> str:
    """A line for the eye: the part around its first match, `start` bytes in."""
    raw = raw.removesuffix(b"\n").removesuffix(b"\r")
    before = len(raw[:start].decode("utf-8", "replace"))
    line = raw.decode("utf-8", "replace")
    if len(line) <= LONGEST_LINE:
        return visible(line)
    low = max(min(before - _BEFORE, len(line) - LONGEST_LINE), 0)
    high = low + LONGEST_LINE
    return f"{'…' * (low > 0)}{visible(line[low:high])}{'…' * (high < len(line))}"
