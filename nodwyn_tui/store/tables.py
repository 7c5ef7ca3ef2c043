"""What the index knows of each event, as rows: written here, and asked for here."""

import sqlite3
from collections.abc import Sequence
from itertools import chain
from typing import Any

from nodwyn_tui.domain.events import (
    AttachImage,
    ContextOpen,
    LlmRequest,
    ToolCall,
    ToolResult,
    UnknownEvent,
    UserMessage,
)
from nodwyn_tui.store.following import Placed
from nodwyn_tui.store.words import MOST_OF_OUTPUT, SEARCHED, text_of, words_of

TABLES = (
    "CREATE TABLE facts(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE events(seq INTEGER PRIMARY KEY, offset INTEGER NOT NULL, length INTEGER NOT NULL,"
    " type TEXT NOT NULL, ctx INTEGER NOT NULL, run INTEGER NOT NULL, own INTEGER NOT NULL)",
    "CREATE TABLE requests(seq INTEGER PRIMARY KEY, start INTEGER NOT NULL,"
    " recipe INTEGER NOT NULL)",
    "CREATE TABLE calls(id TEXT PRIMARY KEY, call INTEGER, result INTEGER) WITHOUT ROWID",
    "CREATE TABLE contexts(id INTEGER PRIMARY KEY, seq INTEGER NOT NULL)",
)
"""`own` are the events of the conversation itself, not of a sub-context; `start` and `recipe` say
what replaying a request needs: the events from the one on, and the other.
"""
WORDS = (
    "CREATE VIRTUAL TABLE words USING"
    " fts5(said, content='', detail=none, columnsize=0, tokenize='ascii')"
)
"""Where SQLite has FTS5. It keeps no text (`words.py`)."""

_BOUNDARIES = f"own AND type IN ('{UserMessage.type}', '{LlmRequest.type}')"
"""Events of the conversation before which all its calls are answered."""
_TEXTS = ", ".join(f"'{kind.type}'" for kind in SEARCHED)
_PARTLY = (
    f"(type IN ('{ToolCall.type}', '{ToolResult.type}') AND length > {MOST_OF_OUTPUT}"
    f" OR type = '{AttachImage.type}')"
)
"""Events whose words are not all in the index."""
_LARGEST = 2**63 - 1

Row = tuple[int, int, int]
"""A seq, and the offset and length of its line."""


class Tables:
    """The rows of one index, in an open database. Raises `sqlite3.Error`."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self.database, self.run = database, database.execute
        self.has_words = bool(self._rows("SELECT 1 FROM sqlite_master WHERE name='words'"))

    def clear(self) -> None:
        """Removes all of it."""
        for table in ("facts", "events", "requests", "calls", "contexts"):
            self.run(f"DELETE FROM {table}")
        if self.has_words:
            self.run("INSERT INTO words(words) VALUES('delete-all')")

    def fact(self, name: str) -> str:
        """What was kept under a name; '' for nothing."""
        rows = self.run("SELECT value FROM facts WHERE name=?", (name,)).fetchall()
        return rows[0][0] if rows else ""

    def keep(self, name: str, value: str) -> None:
        """Keeps a value under a name."""
        self.run("INSERT OR REPLACE INTO facts VALUES(?, ?)", (name, value))

    def add(self, placed: Placed, *, own: bool) -> None:
        """Takes an event in."""
        event = placed.event
        kind = event.kind if isinstance(event, UnknownEvent) else event.type
        row = placed.offset, placed.length, kind, _fitting(event.ctx), _fitting(event.run), own
        self.run("INSERT INTO events VALUES(?, ?, ?, ?, ?, ?, ?)", (event.seq, *row))
        match event:
            case ToolCall():  # an id that is used again is the later call's
                values = event.call_id, event.seq
                self.run("INSERT OR REPLACE INTO calls(id, call) VALUES(?, ?)", values)
            case ToolResult():
                values = event.call_id, event.seq
                self.run(
                    "INSERT INTO calls(id, result) VALUES(?, ?) ON CONFLICT(id)"
                    " DO UPDATE SET result=excluded.result WHERE result IS NULL",
                    values,
                )
            case ContextOpen(lasting=False):
                opened = _fitting(event.id), event.seq
                self.run("INSERT OR IGNORE INTO contexts VALUES(?, ?)", opened)
            case _:
                pass
        if self.has_words and (text := text_of(event)):
            said = event.seq, words_of(text)
            self.run("INSERT INTO words(rowid, said) VALUES(?, ?)", said)

    def add_request(self, request: LlmRequest, start: int, recipe: int) -> None:
        """Takes in what replaying a request needs. A sub-context's needs that from its beginning on
        too, whatever the conversation's start is meanwhile.
        """
        opened = self._rows("SELECT seq FROM contexts WHERE id=?", request.ctx)
        start = min([start, *chain.from_iterable(opened)])
        row = request.seq, start, recipe
        self.run("INSERT OR REPLACE INTO requests VALUES(?, ?, ?)", row)

    def forget_requests(self) -> None:
        """Removes what replaying needs, as another fold named it."""
        self.run("DELETE FROM requests")

    def lines(self, first: int, last: int, limit: int) -> Sequence[Row]:
        """The places of the events from `first` to `last`, the earliest `limit`."""
        return self._rows(
            "SELECT seq, offset, length FROM events WHERE seq BETWEEN ? AND ? ORDER BY seq LIMIT ?",
            *(first, last, limit),
        )

    def needs_of(self, seq: int) -> tuple[int, int]:
        """Start and recipe of the request at `seq`; all events before it if that is not known."""
        rows = self._rows("SELECT start, recipe FROM requests WHERE seq=?", seq)
        return rows[0] if rows else (0, 0)

    def request_before(self, seq: int) -> int | None:
        """See `Archive.request_before`."""
        return self._seq(f"own AND type = '{LlmRequest.type}' AND seq < ? ORDER BY seq DESC", seq)

    def call(self, call_id: str) -> tuple[int | None, int | None] | None:
        """The seqs of a call and of its result, each `None` if there is none; `None` for an id that
        nothing bears.
        """
        rows = self._rows("SELECT call, result FROM calls WHERE id=?", call_id)
        return rows[0] if rows else None

    def page(self, before: int, count: int) -> tuple[int, int]:
        """See `Archive.page`."""
        last = self._seq("seq < ? ORDER BY seq DESC", before)
        if last is None:
            return 1, 0
        near = self._seq("seq < ? ORDER BY seq DESC", before, skip=count - 1)
        first = near and self._seq(f"seq <= ? AND {_BOUNDARIES} ORDER BY seq DESC", near)
        return first or 1, last

    def page_after(self, after: int, count: int) -> tuple[int, int]:
        """See `Archive.page_after`."""
        first = self._seq("seq > ? ORDER BY seq", after)
        if first is None:
            return after + 1, after
        near = self._seq("seq > ? ORDER BY seq", after, skip=count)
        then = near and self._seq(f"seq >= ? AND {_BOUNDARIES} ORDER BY seq", near)
        last = self._seq("seq < ? ORDER BY seq DESC", then or _LARGEST)
        return first, last or first

    def found(self, expression: str, before: int, limit: int) -> Sequence[Row]:
        """The places of events that may hold what is searched for, the latest first."""
        if expression and self.has_words:
            where = (
                "seq IN (SELECT rowid FROM words WHERE words MATCH ? AND rowid < ?"
                " ORDER BY rowid DESC LIMIT ?)"
            )
            values: tuple[str | int, ...] = expression, before, limit
        else:
            where, values = f"type IN ({_TEXTS}) AND seq < ?", (before,)
        return self._rows(
            f"SELECT seq, offset, length FROM events WHERE {where} ORDER BY seq DESC LIMIT ?",
            *(*values, limit),
        )

    def others(self, expression: str, inner: str, before: int, limit: int) -> Sequence[Row]:
        """The places of events that may hold what is searched for and that `found` does not name,
        the latest first: those that `inner` asks for and what is not indexed whole; all that can
        hold a text where `inner` is ''.
        """
        where, values = f"type IN ({_TEXTS}, '{AttachImage.type}')", list[str | int]()
        if inner and self.has_words:
            where = f"({_PARTLY} OR seq IN (SELECT rowid FROM words WHERE words MATCH ?))"
            values = [inner]
        if expression and self.has_words:
            where += " AND seq NOT IN (SELECT rowid FROM words WHERE words MATCH ?)"
            values.append(expression)
        return self._rows(
            f"SELECT seq, offset, length FROM events WHERE {where} AND seq < ?"
            " ORDER BY seq DESC LIMIT ?",
            *(*values, before, limit),
        )

    def _seq(self, where: str, value: int, skip: int = 0) -> int | None:
        query = f"SELECT seq FROM events WHERE {where} LIMIT 1 OFFSET ?"
        rows = self._rows(query, value, skip)
        return rows[0][0] if rows else None

    def _rows(self, query: str, *values: str | int) -> list[Any]:
        fitting = [_fitting(value) if isinstance(value, int) else value for value in values]
        return self.run(query, fitting).fetchall()


def _fitting(number: int) -> int:
    """A number of a stranger's line, as SQLite holds numbers."""
    return max(-_LARGEST, min(number, _LARGEST))
