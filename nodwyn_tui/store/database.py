"""The file of an index: opened without trust (a repository may have brought it along, SEC-4), made
anew where it is not ours, and in memory where no file can be.
"""

import contextlib
import functools
import os
import sqlite3
import stat
from pathlib import Path

from nodwyn_tui.store.tables import TABLES, WORDS

INDEX_NAME = "index.sqlite"
WAIT_MS = 60_000
"""How many milliseconds another process may take for its turn."""

_BESIDE = ("", "-wal", "-shm", "-journal")
_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)

_SCHEMA = "SELECT type, name, sql FROM sqlite_master ORDER BY name"


class NotOurs(sqlite3.DatabaseError):
    """The file holds something else than an index of this build."""


def in_memory() -> sqlite3.Connection:
    """An empty index that goes when it is closed."""
    connection = _connected(":memory:")
    _make(connection)
    return connection


def in_file(path: Path) -> sqlite3.Connection:
    """The index at `path`, or a new and empty one. Raises `OSError`, and `sqlite3.Error`: `NotOurs`
    for a file that another put there.
    """
    if not all(_may_be_ours(found) for found in _files(path)):
        raise NotOurs
    if not path.exists():
        if any(found.exists() for found in _files(path)):
            discard(path)  # what is left beside it belonged to another
        with contextlib.suppress(FileExistsError):  # another process was as quick
            os.close(os.open(path, _NEW, 0o600))
    connection = _connected(f"{path.absolute().as_uri()}?mode=rw")
    try:
        if not is_ours(connection):
            _make_first(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def discard(path: Path) -> None:
    """Removes an index; what a link leads to stays. Raises `OSError`."""
    for found in _files(path):
        found.unlink(missing_ok=True)


def is_ours(connection: sqlite3.Connection) -> bool:
    """Whether it holds the tables of this build, and nothing that acts when they are used."""
    return bool(connection.execute(_SCHEMA).fetchall() == _our_schema())


def _connected(name: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        name, timeout=WAIT_MS / 1000, isolation_level=None, check_same_thread=False, uri=True
    )
    # After a crash of the whole machine it must be an earlier state of itself, not a mixture: so
    # the disk is asked at its checkpoints, though losing all of it would only cost time.
    for setting in ("synchronous=NORMAL", "trusted_schema=OFF", "temp_store=MEMORY"):
        connection.execute(f"PRAGMA {setting}")
    return connection


def _files(path: Path) -> tuple[Path, ...]:
    return tuple(path.with_name(path.name + ending) for ending in _BESIDE)


def _may_be_ours(path: Path) -> bool:
    """Whether a file is none, or private, the owner's own, and no link by any means."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return True
    private = not hasattr(os, "geteuid") or (
        found.st_uid == os.geteuid() and not stat.S_IMODE(found.st_mode) & 0o077
    )
    return stat.S_ISREG(found.st_mode) and found.st_nlink == 1 and private


def _make_first(connection: sqlite3.Connection) -> None:
    """Makes the tables of a new file, unless another process was as quick."""
    connection.execute("PRAGMA synchronous=OFF")  # there is nothing yet to lose
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("BEGIN IMMEDIATE")
    found = connection.execute(_SCHEMA).fetchall()
    if not found:
        _make(connection)
    connection.execute("COMMIT")
    connection.execute("PRAGMA synchronous=NORMAL")
    if found and found != _our_schema():
        raise NotOurs


def _make(connection: sqlite3.Connection) -> None:
    for statement in (*TABLES, *((WORDS,) if _knows_words() else ())):
        connection.execute(statement)


@functools.cache
def _our_schema() -> list[tuple[str, str, str]]:
    connection = in_memory()
    try:
        return connection.execute(_SCHEMA).fetchall()
    finally:
        connection.close()


@functools.cache
def _knows_words() -> bool:
    """Whether FTS5 is built into this SQLite. Where it is not, a search reads the log."""
    connection = sqlite3.connect(":memory:")
    try:
        connection.execute(WORDS)
    except sqlite3.OperationalError:
        return False
    finally:
        connection.close()
    return True
