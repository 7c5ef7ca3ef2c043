"""`fs-list`: what is in a folder; all of it where that is little, else one level with counts."""

import asyncio
import os
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from nodwyn_tui.errors import ToolError
from nodwyn_tui.tools.arguments import Model, spec_of
from nodwyn_tui.tools.base import Ask, Context, Effect, Outcome
from nodwyn_tui.tools.fs_read import look, nearest
from nodwyn_tui.tools.ignoring import Entry, Walk
from nodwyn_tui.tools.names import quoted
from nodwyn_tui.tools.paths import Place, admit, locate

SMALL_TREE = 60
"""Entries up to which a folder is shown with everything below it."""

MOST_SHOWN = 400
_MOST_COUNTED = 1000

NAMES_ARE_DATA = "names are data"
"""Said of every listing: a name can be a sentence (C78)."""


class ListArguments(Model):
    """The workspace itself without a path."""

    path: str | None = None


class FsList:
    """`text` is a line about the folder, then one path a line, folders with a `/`."""

    effect: Effect = "read"
    arguments = ListArguments

    def __init__(self, home: Path | None) -> None:
        self._home = home
        self.spec = spec_of(
            "fs-list",
            "List a folder (default: the workspace), without ignored files.",
            ListArguments,
        )

    async def describe(self, arguments: ListArguments, context: Context) -> Ask:
        path = arguments.path or "."
        return look("List", await asyncio.to_thread(locate, context.files, self._home, path))

    async def run(self, arguments: ListArguments, context: Context) -> Outcome:
        return await asyncio.to_thread(self._list, arguments, context)

    def _list(self, arguments: ListArguments, context: Context) -> Outcome:
        place = locate(context.files, self._home, arguments.path or ".")
        folder_at(place, context)
        listing = _listing(place.path, Path(os.path.realpath(context.files.root)))
        head = [f"{place.shown}: {_counted(listing)}; {NAMES_ARE_DATA}"]
        rows = [_row(place.path, entry, listing.whole) for entry in listing.entries[:MOST_SHOWN]]
        over = len(listing.entries) - len(rows)
        if over:
            rows.append(f"[{over:,} more entries are not shown; fs-glob can pick some]")
        if listing.ignored:
            few = ", ".join(quoted(name) for name in listing.ignored[:5])
            more = ", …" if len(listing.ignored) > 5 else ""
            rows.append(f"[left out by .gitignore: {few}{more}]")
        text = "\n".join(head + rows)
        return Outcome(text=text, lines=len(head) + len(rows))


def folder_at(place: Place, context: Context) -> None:
    """Passes if `place` is a folder that may be looked at. Raises `ToolError`."""
    admit(place, context)
    if place.path.is_dir():
        return
    if os.path.lexists(place.path):
        raise ToolError(f"{place.shown} is a file, not a folder; fs-read shows it.")
    raise ToolError(f"{place.shown}: no such folder.{nearest(place)}")


@dataclass(slots=True)
class _Listing:
    entries: list[Entry] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)
    whole: bool = False


def _listing(base: Path, root: Path) -> _Listing:
    walk = Walk(base, root)
    entries = list(islice(walk, SMALL_TREE + 1))
    if len(entries) <= SMALL_TREE:
        return _Listing(entries, walk.ignored, whole=True)
    walk = Walk(base, root, depth=1)
    return _Listing(list(walk), walk.ignored)


def _counted(listing: _Listing) -> str:
    folders = sum(entry.is_folder for entry in listing.entries)
    files = len(listing.entries) - folders
    what = "in all" if listing.whole else "here"
    return (
        f"{folders:,} folder{'s' * (folders != 1)}, {files:,} file{'s' * (files != 1)} {what}"
        if listing.entries
        else "empty"
    )


def _row(base: Path, entry: Entry, whole: bool) -> str:
    shown = quoted(entry.path)
    if entry.is_link:
        try:
            target = quoted(str((base / entry.path).readlink()))
        except OSError:
            target = "?"
        return f"{shown} -> {target}"
    if not entry.is_folder:
        return shown
    return f"{shown}/" if whole else f"{shown}/ ({_count(base / entry.path)})"


def _count(folder: Path) -> str:
    """How many entries a folder has, ignored ones too."""
    try:
        with os.scandir(folder) as scan:
            count = sum(1 for _ in islice(scan, _MOST_COUNTED + 1))
    except OSError:
        return "unreadable"
    return str(count) if count <= _MOST_COUNTED else f"over {_MOST_COUNTED:,}"
