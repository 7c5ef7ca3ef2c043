"""Mends a damaged log on the disk (ENG-5): what is of no use goes into a file beside it, byte for
byte, and the log says once what it lost. At each moment all bytes stand in one of the two.
"""

import contextlib
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

from nodwyn_tui.domain.events import Event, SessionRecovered
from nodwyn_tui.store.lines import encode
from nodwyn_tui.store.position import Position
from nodwyn_tui.store.scan import Chunk, Scan
from nodwyn_tui.system.atomic import disk_error, write_whole

SIDE_FILE = "log.damaged"


def mend(log: Path, found: Scan, now: datetime) -> tuple[Event, ...]:
    """Writes the log anew if it is damaged, and gives its events: with a `session.recovered` at
    the end then. A sound log stays untouched. Raises `StoreError`; the log is then as it was.
    """
    if not found.damage:
        if not found.ended:
            write_whole(log, b"".join(found.lines()))
        return found.events
    place = position_behind(found.events, found.last_seq)
    recovered = SessionRecovered(
        missing=found.damage.missing,
        bytes=found.damage.bytes,
        side_file=SIDE_FILE if found.damage.chunks else "",
    )
    (report,), _ = place.place((recovered,), now)
    _set_aside(log.with_name(SIDE_FILE), found.damage.chunks)
    write_whole(log, b"".join((*found.lines(), encode(report))), 0o600)
    return (*found.events, report)


def position_behind(events: Iterable[Event], last_seq: int = 0) -> Position:
    """Where a log stands behind its events; a seq up to `last_seq` is never used again."""
    position = Position(next_seq=last_seq + 1)
    for event in events:
        position = position.after(event)
    return position


def _set_aside(side: Path, chunks: Iterable[Chunk]) -> None:
    damaged = b"".join(chunk.data for chunk in chunks)
    earlier = b""
    try:
        with contextlib.suppress(FileNotFoundError):
            earlier = side.read_bytes()
    except OSError as error:
        raise disk_error("read", side, error) from error
    # A crash right behind this step makes the next opening set the same bytes aside again.
    if not earlier.endswith(damaged):
        write_whole(side, earlier + damaged, 0o600)
