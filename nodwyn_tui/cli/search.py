"""`nodwyn sessions search`: what was said in any session, found by the logs' indexes (ENG-7)."""

import contextlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from nodwyn_tui.cli import output
from nodwyn_tui.errors import StoreError, UsageError
from nodwyn_tui.store.archive import Archive, Hit
from nodwyn_tui.store.sessions import session_folders


def search(
    text: str, workspaces: Iterable[Path], state: Path, *, limit: int, as_json: bool
) -> None:
    """Prints what was found, the latest session first, and of each the latest `limit` finds."""
    text = os.fsencode(text).decode("utf-8", "replace")  # bytes of another encoding find nothing
    if not text.strip():
        raise UsageError("nothing to search for: give a word or several")
    if limit < 1:
        raise UsageError("--limit must be 1 or more")
    found = list(_found(text, workspaces, state, limit))
    if as_json:
        output.json_line([_value(folder, hit) for folder, hit in found])
    else:
        for folder, hit in found:
            output.show(f"{folder.name}  {hit.seq:>6}  {hit.type:<14}  {hit.snippet}")
    if not found:
        output.tell("nothing found: all words must stand in one event, as words begin there")


def _found(
    text: str, workspaces: Iterable[Path], state: Path, limit: int
) -> Iterator[tuple[Path, Hit]]:
    folders = {folder: None for place in workspaces for folder in session_folders(place, state)}
    for folder in sorted(folders, key=lambda folder: folder.name, reverse=True):
        try:
            # Without a fold: the one that the index keeps for the session stays as it is.
            with contextlib.closing(Archive(folder)) as archive:
                for hit in archive.search(text, limit):
                    yield folder, hit
        except StoreError as error:
            output.tell(f"{folder.name} was not searched: {error}")


def _value(folder: Path, hit: Hit) -> dict[str, object]:
    return {
        "session": folder.name,
        "folder": str(folder),
        "seq": hit.seq,
        "type": hit.type,
        "snippet": hit.snippet,
    }
