"""Files of the workspace by a few letters of their paths, while a person types (TUI-7)."""

import asyncio
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from nodwyn_tui.link import events as up
from nodwyn_tui.tools.ignoring import Walk

MOST = 20
"""Paths that are offered."""
LONGEST = 200
"""Characters of a query."""
FRESH_S = 10.0
"""For how long a listing is taken as it is."""
SOON_S = 0.15
"""After so long a listing that still goes on is answered from."""

Emit = Callable[[up.UpEvent], None]


@dataclass(slots=True)
class Listing:
    """The files of a folder, as they are found; `done` once all are."""

    paths: list[str] = field(default_factory=list)
    small: list[str] = field(default_factory=list)
    done: bool = False
    ended: float = 0.0

    def take(self, walk: Walk) -> None:
        """Lists what a walk finds; in a thread."""
        for entry in walk:
            if entry.is_file:
                self.small.append(entry.path.lower())
                self.paths.append(entry.path)
        self.done, self.ended = True, time.monotonic()

    def best(self, query: str) -> tuple[str, ...]:
        """The paths that fit a query best; without one, the first ones."""
        count = len(self.paths)
        if not query:
            return tuple(self.paths[:MOST])
        found = best(self.small[:count], query.lower())
        return tuple(self.paths[at] for at in found)


class FileFinder:
    """Answers one query at a time, the latest; `FilesFound` comes again once more was listed."""

    def __init__(self, workspace: Path, emit: Emit) -> None:
        self._workspace, self._emit = workspace, emit
        self._listing: Listing | None = None
        self._query: str | None = None
        self._work: asyncio.Task[None] | None = None
        self._walk: asyncio.Future[None] | None = None

    def find(self, query: str) -> None:
        """Asks for paths; what was asked before needs no answer any more."""
        self._query = query[:LONGEST]
        if self._work is None or self._work.done():
            self._work = asyncio.create_task(self._answer())

    async def close(self) -> None:
        """Asks no more. A walk in its thread ends by itself."""
        if self._work is not None:
            self._work.cancel()
            await asyncio.wait([self._work])

    async def _answer(self) -> None:
        listing, walk = self._listed()
        while self._query is not None:
            if walk is not None and not listing.done:
                await asyncio.wait([walk], timeout=SOON_S)
            query, done = self._query, listing.done
            paths = await asyncio.to_thread(listing.best, query)
            if query == self._query:
                self._emit(up.FilesFound(query=query, paths=paths, more=not done))
                self._query = None if done else query

    def _listed(self) -> tuple[Listing, asyncio.Future[None] | None]:
        """The listing that counts now: one that goes on, a fresh one, or a new one."""
        now, listing = time.monotonic(), self._listing
        if listing is None or (listing.done and now - listing.ended > FRESH_S):
            listing = self._listing = Listing()
            walk = Walk(self._workspace, self._workspace)
            self._walk = asyncio.ensure_future(asyncio.to_thread(listing.take, walk))
        return listing, self._walk


def best(paths: Sequence[str], query: str) -> list[int]:
    """The places of the paths (in small letters) that fit a query best: as it stands in a name's
    beginning, in a name, in a path; else its letters in order. Of equals the shorter.
    """
    ranked = sorted(_standing(paths, query))
    if len(ranked) < MOST:
        known = {at for _, _, at in ranked}
        ranked += sorted(each for each in _scattered(paths, query) if each[2] not in known)
    return [at for _, _, at in ranked[:MOST]]


def _standing(paths: Sequence[str], query: str) -> Iterator[tuple[int, int, int]]:
    for at, path in enumerate(paths):
        if query in path:
            name = path.rpartition("/")[2]
            rank = 0 if name.startswith(query) else 1 if query in name else 2
            yield rank, len(path), at


def _scattered(paths: Sequence[str], query: str) -> Iterator[tuple[int, int, int]]:
    letters = re.compile(".*?".join(map(re.escape, query)), re.DOTALL)
    for at, path in enumerate(paths):
        if found := letters.search(path):
            yield 3 + found.end() - found.start(), len(path), at
