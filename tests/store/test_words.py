"""ENG-7: what a search finds, and where it does not look."""

import sqlite3
from contextlib import closing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nodwyn_tui.domain import events as ev
from nodwyn_tui.domain.parts import Block, Call, Text, Thinking
from nodwyn_tui.store.tables import WORDS
from nodwyn_tui.store.words import MOST_OF_OUTPUT, Query, text_of, words_of
from tests.fakes.sessions import one_of_each

EACH = settings(deadline=None)

FOUND = [
    ("list_sessions(folder)", "sessions"),
    ("listSessions", "sess"),
    ("listSessions", "LISTS"),
    ("listSessions", "listSess"),
    ("parseHTTPBody", "http"),
    ("parseHTTPBody", "HTTPBody"),
    ("parseHTTPBody", "body"),
    ("HTTPServer2", "server2"),
    ("README.md", "readme.m"),
    ("src/store/index.py:12", "store/index.py"),
    ("base64Decode", "decode"),
    ("v20 of ENG-7", "eng-7"),
    ("Größe und Maß", "größe maß"),
    ("„Zitat“ und mehr", "zitat mehr"),
    ("数据库的索引", "索引"),
    ("データベース", "ベース"),
    ("ขอบคุณครับ", "คุณ"),
    ("한국어를 씁니다", "한국"),
    ("a => b", "=>"),
    ("a\0b NUL", "nul b"),
    ("x" * 100_000 + " end", "end"),
]


@pytest.mark.parametrize(("text", "query"), FOUND)
def test_words_and_parts_of_identifiers_are_found(text: str, query: str) -> None:
    assert finds(text, query)


OTHER = [("listSessions", "essions"), ("a b", "a c"), ("store", "index"), ("a.b", "a,b")]


@pytest.mark.parametrize(("text", "query"), OTHER)
def test_other_texts_are_not(text: str, query: str) -> None:
    assert not finds(text, query)


def finds(text: str, query: str) -> bool:
    """Whether the index names the text, and it fits."""
    asked = Query.of(query)
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute(WORDS)
        database.execute("INSERT INTO words(rowid, said) VALUES(1, ?)", (words_of(text),))
        query = "SELECT rowid FROM words WHERE words MATCH ?"
        named = not asked.expression or database.execute(query, (asked.expression,)).fetchall()
    return bool(named) and asked.fits(text)


LETTERS = st.sampled_from("aBcXyZ09_-. \"'*:()é数ン\u0e01\0\n")


@EACH
@given(st.text(LETTERS, max_size=30), st.integers(0, 30), st.integers(1, 8))
def test_whatever_begins_as_a_word_does_is_found(text: str, start: int, length: int) -> None:
    query = text[start : start + length].strip()
    begins = start == 0 or not text[start - 1 : start].isalnum()
    assert not query or not begins or finds(text, query)


@EACH
@given(st.text(max_size=30))
def test_any_query_can_be_asked(query: str) -> None:
    """Quotes, operators and column names of the index's own language among them."""
    for text in (query, f'said:"{query}*', f"NOT {query} OR (", f"^{query} NEAR(a)"):
        assert finds(f"x {text.replace(chr(0), ' ')}", "x")
        finds("something else", text)


def test_what_is_searched_and_what_is_not() -> None:
    """Of calls and results the beginning; never thinking, blocks or images."""
    reply = ev.LlmResponse(
        req=1,
        parts=(Thinking("secretly"), Block("b", "o", "opaque"), Text("said"), Call("c", "t", "{}")),
        finish="stop",
    )
    assert text_of(reply) == "said"
    long = "é" * MOST_OF_OUTPUT + "behind"
    assert text_of(ev.ToolResult(call_id="c", name="t", text=long)) == long[:-6]
    assert text_of(ev.ToolCall(resp=1, call_id="c", name="t", arguments=long)) == f"t {long[:-6]}"
    assert text_of(ev.UserMessage(text=long)) == long
    texts = [text_of(event) for event in one_of_each()]
    assert {"A title", "mind this", "1. go", "so", "ok"} <= set(texts)


def test_snippet_is_one_line_around_the_find() -> None:
    text = "first line\n" + "filler words " * 20 + "the Needle\there\n" + "more " * 80
    snippet = Query.of("needle").snippet(text)
    assert "the Needle here more" in snippet
    assert snippet.startswith("…")
    assert snippet.endswith("…")
    assert len(snippet) < 170
    assert Query.of("first").snippet("first\nlast") == "first last"
