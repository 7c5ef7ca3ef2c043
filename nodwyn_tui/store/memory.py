"""What is remembered between sessions: plain Markdown in the workspace, and the person's own beside
their settings (ORD-10). Anybody may edit it in any editor; nothing here is a format of its own.

Facts and corrections are list items, `- 2026-01-31 the build needs Node 20`; the date, which is
optional, is that of the fact. Notes are free text that one session leaves for its next window.
"""

import re
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from nodwyn_tui.domain.canonical import clean
from nodwyn_tui.domain.words import Keeper, MemoryFile
from nodwyn_tui.errors import StoreError
from nodwyn_tui.store.lock import turn
from nodwyn_tui.store.redact import Redactor
from nodwyn_tui.store.words import words_of
from nodwyn_tui.system.atomic import disk_error, make_private_dir, write_whole

LARGEST = 256 * 1024
"""Bytes of a file that is read; more is no memory, and is said to be too much."""
FACT = 2_000
"""Characters of an item at most."""

_ITEM = re.compile(r"^(?:[-*+]|\d{1,9}[.)])[ \t]+(?:(\d{4}-\d{2}-\d{2})[:,]?[ \t]+)?(\S.*)$")
_GOES_ON = re.compile(r"^[ \t]+(\S.*)$")
_WORD = re.compile(r"\w+")
_MARKED = re.compile("\x02([^\x02\x03]+)\x03")
"""A word that a query found, as it is marked."""
_ASKED = 64
"""Words of a query that are looked for."""
_RECENT = 0.25
"""What the last line of a file counts beside the best match."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A fact or a correction: its text on one line, the date it bears ('' none), whose it is, and
    the line (from 1) it begins at.
    """

    text: str
    date: str = ""
    keeper: Keeper
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """An item that has `words` of a query, as they stand in it; `later` items follow it in its own
    file.
    """

    item: Item
    words: tuple[str, ...]
    later: int


class Memory:
    """The memory of one workspace and of the person. `folders` are tried in this order; a keeper
    without one remembers nothing. Raises `StoreError` for what the disk refuses, and for a file
    that is no text.
    """

    def __init__(self, workspace: Path | None, person: Path | None, redactor: Redactor) -> None:
        self._folders: dict[Keeper, Path | None] = {"workspace": workspace, "person": person}
        self._redactor = redactor
        self._known: dict[tuple[MemoryFile, Keeper], tuple[_Stamp, tuple[Item, ...]]] = {}

    def path(self, file: MemoryFile, keeper: Keeper = "workspace") -> Path | None:
        """Where a file lies, whether it is there or not."""
        folder = self._folders[keeper]
        return None if folder is None else folder / f"{file}.md"

    def text(self, file: MemoryFile, keeper: Keeper = "workspace") -> str:
        """A file as it stands; '' where there is none. Never through a link of the workspace's: a
        repository may bring one that leads elsewhere. The person's own are theirs.
        """
        path = self.path(file, keeper)
        if path is None or _leads_away(path, keeper):
            return ""
        if path.exists() and not path.is_file():  # a pipe would be waited for without end
            raise StoreError(f"{path} is no file; move it away")
        try:
            with path.open("rb") as stream:
                data = stream.read(LARGEST + 1)
        except (FileNotFoundError, NotADirectoryError):
            return ""
        except OSError as error:
            raise disk_error("read", path, error) from error
        if len(data) > LARGEST:
            raise StoreError(f"{path} has more than {LARGEST:,} bytes; shorten it")
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise StoreError(f"{path} is not UTF-8 text; save it as UTF-8") from error
        if "\0" in text:
            raise StoreError(f"{path} is no text; mend or remove it")
        return clean(text)

    def items(self, file: MemoryFile) -> tuple[Item, ...]:
        """The list items of both keepers' files, the workspace's first, each in its own order."""
        keepers: tuple[Keeper, ...] = ("workspace", "person")
        return tuple(item for keeper in keepers for item in self.items_of(file, keeper))

    def items_of(self, file: MemoryFile, keeper: Keeper) -> tuple[Item, ...]:
        """Those of one keeper."""
        path, known = self.path(file, keeper), self._known.get((file, keeper))
        stamp = _stamp(path) if path else ()
        if known is not None and known[0] == stamp:
            return known[1]
        items = tuple(_items(self.text(file, keeper), keeper))
        self._known[file, keeper] = stamp, items
        return items

    def addition(self, file: MemoryFile, text: str, date: str) -> str:
        """The line that `add` would write, without keys; '' where its item stands there already.
        Raises what `add` would, but for what only writing tells.
        """
        item = " ".join(self._redactor.text(clean(text)).split())
        if not item or len(item) > FACT:
            raise StoreError(f"an item has 1 to {FACT:,} characters, this one {len(item):,}")
        self.check(file)
        known = any(each.text == item for each in _items(self.text(file), "workspace"))
        return "" if known else f"- {date} {item}"

    def add(self, file: MemoryFile, text: str, date: str) -> bool:
        """Adds an item to a file of the workspace; false where it stands there already."""
        with self._turn(file) as path:
            line = self.addition(file, text, date)
            if line:
                before = self.text(file)
                end = "\r\n" if "\r\n" in before else "\n"
                gap = "" if not before or before.endswith("\n") else end
                self._write(path, f"{before}{gap}{line}{end}")
            return bool(line)

    def replace(self, file: MemoryFile, text: str) -> None:
        """A whole file of the workspace anew."""
        with self._turn(file) as path:
            self._write(path, self._redactor.text(clean(text)))

    @contextmanager
    def _turn(self, file: MemoryFile) -> Iterator[Path]:
        """The right to write a file, for as long as it is held: several sessions share it."""
        path = self.check(file)
        make_private_dir(path.parent)
        with turn(path.with_name(f".{path.name}.lock")):
            yield path

    def check(self, file: MemoryFile, keeper: Keeper = "workspace") -> Path:
        """Where a file lies; `StoreError` where memory never looks: behind a workspace's link."""
        path = self.path(file, keeper)
        if path is None:
            raise StoreError(
                "this workspace keeps no memory: its .nodwyn is a link, which memory never follows;"
                " put a folder in its place"
            )
        if _leads_away(path, keeper):
            raise StoreError(f"{path} is a link, which memory never follows; remove it")
        return path

    def _write(self, path: Path, text: str) -> None:
        data = text.encode()
        if len(data) > LARGEST:
            raise StoreError(f"{path} would have more than {LARGEST:,} bytes; shorten it first")
        write_whole(path, data, 0o600)


_Stamp = tuple[int, ...]


def _stamp(path: Path) -> _Stamp:
    """What changes where a file does, or what it links to, or its folder becomes a link; () where
    there is none.
    """
    try:
        link, file, folder = path.lstat(), path.stat(), path.parent.lstat()
    except OSError:
        return ()
    kept = (file.st_ino, file.st_size, file.st_mtime_ns, file.st_ctime_ns)
    return (*kept, link.st_mode, folder.st_mode)


def _leads_away(path: Path, keeper: Keeper) -> bool:
    return keeper == "workspace" and (path.is_symlink() or path.parent.is_symlink())


def ranked(items: Sequence[Item], query: str) -> list[Match]:
    """The items that match a query, the best first: by SQLite's full-text rank, and the later of a
    file before the earlier. An item matches if it has a word of the query.
    """
    words = dict.fromkeys(word for word in _WORD.findall(words_of(query)) if len(word) > 1)
    if not words or not items:
        return []
    with closing(sqlite3.connect(":memory:")) as index:
        index.execute("create virtual table items using fts5(words)")
        index.executemany(
            "insert into items (rowid, words) values (?, ?)",
            ((at, words_of(item.text)) for at, item in enumerate(items)),
        )
        asked = " OR ".join(f'"{word}"' for word in [*words][:_ASKED])
        rows = index.execute(
            "select rowid, rank, highlight(items, 0, char(2), char(3)) from items"
            " where items match ?",
            (asked,),
        ).fetchall()
    best = min((rank for _, rank, _ in rows), default=-1.0) or -1.0
    last = {item.keeper: item.line for item in items}
    scored = [
        (rank / best + _RECENT * items[at].line / last[items[at].keeper], at, marked)
        for at, rank, marked in rows
    ]
    later = _later(items)
    return [
        Match(item=items[at], words=tuple(dict.fromkeys(_MARKED.findall(marked))), later=later[at])
        for _, at, marked in sorted(scored, reverse=True)
    ]


def _later(items: Sequence[Item]) -> list[int]:
    """How many items of its own file follow each."""
    left = Counter(item.keeper for item in items)
    found = []
    for item in items:
        left[item.keeper] -= 1
        found.append(left[item.keeper])
    return found


def _items(text: str, keeper: Keeper) -> Iterator[Item]:
    """List items, each with the indented lines that go on with it."""
    found: list[tuple[int, str, list[str]]] = []
    for number, line in enumerate(text.splitlines(), 1):
        if (item := _ITEM.match(line)) is not None:
            found.append((number, item[1] or "", [item[2].strip()]))
        elif found and (more := _GOES_ON.match(line)) is not None:
            found[-1][2].append(more[1].strip())
    for number, date, parts in found:
        yield Item(text=" ".join(parts), date=date, keeper=keeper, line=number)
