"""Finds sessions and tells cheap facts of them: from the head and the tail of each log and from its
index, never the whole of one.
"""

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from nodwyn_tui.domain.events import Event, SessionTitle, UserMessage
from nodwyn_tui.errors import UsageError
from nodwyn_tui.store.archive import title_in_index
from nodwyn_tui.store.lines import NotAnEvent, decode
from nodwyn_tui.store.places import LOG_NAME, SESSION_ID, known_workspaces, leads_elsewhere, shelves

_HEAD, _TAIL, _MOST = 1 << 16, 1 << 16, 1 << 22
"""Bytes read from the head at a time and from the tail at first, and the most of either."""
_LONGEST_SHOWN = 80


@dataclass(frozen=True, slots=True)
class SessionFacts:
    """A session as a list shows it. `title` is the one it was given last, as far as the tail or an
    index tells, `first_message` what the person said first; `last_at` the time of its last event,
    `count` its last seq.
    """

    id: str
    folder: Path
    title: str
    first_message: str
    last_at: str
    count: int


def list_sessions(workspace: Path, state: Path) -> list[SessionFacts]:
    """The sessions of a workspace, the latest first. A log that can't be read is left out."""
    found = [facts for folder in session_folders(workspace, state) if (facts := _facts(folder))]
    return sorted(found, key=lambda facts: (facts.last_at, facts.id), reverse=True)


def find(reference: str, workspace: Path, state: Path) -> Path:
    """The folder of a session: by its id, a unique prefix of it, its folder or its log. Sought in
    the workspace, then in all that the state folder lists. Raises `UsageError`.
    """
    log = find_log(reference, workspace, state)
    if log.name != LOG_NAME:
        raise UsageError(
            f"{log} is a copy of a log: a session goes on in its own folder, whose log is called"
            f" {LOG_NAME}; `nodwyn replay` reads any"
        )
    return log.parent


def find_log(reference: str, workspace: Path, state: Path) -> Path:
    """The log of a session, as `find`; a path may name a log of any name, copied from elsewhere."""
    path = Path(reference).absolute()
    with contextlib.suppress(OSError):  # too long a name for a path may still be no id
        for log in (path, path / LOG_NAME):
            if log.is_file():
                return log
    for group in ([workspace], known_workspaces(state)):
        named = {folder.name: folder for place in group for folder in session_folders(place, state)}
        if reference in named:
            return named[reference] / LOG_NAME
        fitting = sorted(name for name in named if reference and name.startswith(reference))
        if len(fitting) > 1:
            few = ", ".join(fitting[:4]) + (", …" if len(fitting) > 4 else "")
            raise UsageError(f"several sessions begin with {reference}: {few}. Give more of it.")
        if fitting:
            return named[fitting[0]] / LOG_NAME
    shown = reference if len(reference) <= _LONGEST_SHOWN else reference[:_LONGEST_SHOWN] + "…"
    raise UsageError(
        f"there is no session {shown!r}. `nodwyn sessions list` shows those of a workspace; "
        "a path to a session's folder or log works too."
    )


def session_folders(workspace: Path, state: Path) -> Iterator[Path]:
    """The folders of a workspace's sessions, the earliest first in each place."""
    own, fallback = shelves(workspace, state)
    for shelf in (fallback,) if leads_elsewhere(workspace) else (own, fallback):
        try:
            entries = sorted(shelf.iterdir())
        except OSError:
            continue
        for folder in entries:
            named = SESSION_ID.fullmatch(folder.name) and not folder.is_symlink()
            log = folder / LOG_NAME
            if named and log.is_file() and not log.is_symlink():
                yield folder


def _facts(folder: Path) -> SessionFacts | None:
    try:
        with (folder / LOG_NAME).open("rb") as file:
            tail, is_all = _tail(file)
            if not tail:
                return None
            message = next((e for e in _head(file) if isinstance(e, UserMessage)), None)
    except OSError:
        return None
    last = max(tail, key=lambda event: event.seq)
    titles = [event.title for event in tail if isinstance(event, SessionTitle)]
    if not (titles or is_all):
        titles = [title_in_index(folder / LOG_NAME)]
    return SessionFacts(
        folder.name,
        folder,
        titles[-1] if titles else "",
        message.text if message else "",
        last.at,
        last.seq,
    )


def _head(file: BinaryIO) -> Iterator[Event]:
    file.seek(0)
    rest = b""
    for _ in range(_MOST // _HEAD):
        data = file.read(_HEAD)
        *lines, rest = (rest + data).split(b"\n")
        yield from _events(lines)
        if len(data) < _HEAD:
            return


def _tail(file: BinaryIO) -> tuple[Sequence[Event], bool]:
    """The events of the last lines, and whether there are no others: of more lines if the last ones
    are long, or damaged.
    """
    size = file.seek(0, 2)
    length = _TAIL
    while True:
        start = max(0, size - length)
        file.seek(start)
        lines = file.read(length).split(b"\n")
        events = list(_events(lines if start == 0 else lines[1:]))
        if events or start == 0 or length >= _MOST:
            return events, start == 0
        length *= 8


def _events(lines: Iterable[bytes]) -> Iterator[Event]:
    for line in lines:
        try:
            yield decode(line)
        except NotAnEvent:
            continue
