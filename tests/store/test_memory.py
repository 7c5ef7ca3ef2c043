"""What is remembered between sessions, as plain files (ORD-10)."""

import os
from pathlib import Path

import pytest

from nodwyn_tui.errors import StoreError
from nodwyn_tui.store.memory import LARGEST, Item, Memory, ranked
from nodwyn_tui.store.redact import Redactor


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return Memory(tmp_path / "ws" / "memory", tmp_path / "own" / "memory", Redactor(()))


def write(path: Path | None, text: str | bytes) -> None:
    assert path is not None
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())


def test_nothing_is_remembered_at_first(memory: Memory) -> None:
    assert memory.text("facts") == ""
    assert memory.items("corrections") == ()


def test_an_item_is_a_list_item_with_its_date_in_any_editors_hand(memory: Memory) -> None:
    write(
        memory.path("facts"),
        "# Facts\n\n- 2026-01-31 the build needs\n  Node 20\n* no date here\nplain words\n"
        "+ 2026-02-01: x\n1. first\n2) 2026-03-01 then\n3rd\n",
    )
    write(memory.path("facts", "person"), "- I like short answers\n")
    assert memory.items("facts") == (
        Item(text="the build needs Node 20", date="2026-01-31", keeper="workspace", line=3),
        Item(text="no date here", keeper="workspace", line=5),
        Item(text="x", date="2026-02-01", keeper="workspace", line=7),
        Item(text="first", keeper="workspace", line=8),
        Item(text="then", date="2026-03-01", keeper="workspace", line=9),
        Item(text="I like short answers", keeper="person", line=1),
    )


def test_an_item_of_many_lines_is_told_whole(memory: Memory) -> None:
    """ORD-4: a correction never yields, nor does a part of it."""
    write(memory.path("corrections"), "- " + "begin\n" + "  more\n" * 1_000 + "  end\n")
    (item,) = memory.items("corrections")
    assert (item.text[:10], item.text[-8:]) == ("begin more", "more end")
    assert item.text.count("more") == 1_000


def test_added_items_keep_what_stands_there_and_come_once(memory: Memory) -> None:
    write(memory.path("facts"), "# Mine\n- old")
    memory.add("facts", "the port is\n  8080 ", "2026-11-30")
    memory.add("facts", "the port is 8080", "2026-12-01")
    assert memory.text("facts") == "# Mine\n- old\n- 2026-11-30 the port is 8080\n"
    path = memory.path("facts")
    assert path is not None
    assert path.stat().st_mode & 0o777 == 0o600


def test_an_added_line_ends_as_the_others_do(memory: Memory) -> None:
    path = memory.path("facts")
    assert path is not None
    path.parent.mkdir(parents=True)
    path.write_bytes(b"- old\r\n- older")
    memory.add("facts", "new", "2026-11-30")
    assert path.read_bytes() == b"- old\r\n- older\r\n- 2026-11-30 new\r\n"


def test_a_key_is_not_remembered(tmp_path: Path) -> None:
    """SEC-1."""
    known = "".join(f"{n:x}" for n in range(40))
    memory = Memory(tmp_path / "memory", None, Redactor([known]))
    memory.add("facts", f"the key is {known}", "2026-11-30")
    memory.replace("context-notes", f"key {known}\n")
    assert known not in memory.text("facts") + memory.text("context-notes")
    assert "[redacted:" in memory.text("facts")


@pytest.mark.parametrize("data", [b"- a\xff\n", b"- a\0b\n", b"- " + b"x" * LARGEST])
def test_what_is_no_text_is_named(memory: Memory, data: bytes) -> None:
    write(memory.path("facts"), data)
    with pytest.raises(StoreError, match=r"facts\.md"):
        memory.items("facts")


def test_a_link_is_never_followed(memory: Memory, tmp_path: Path) -> None:
    """SEC-4: a repository may bring one that leads to the person's own files."""
    secret = tmp_path / "secret"
    secret.write_text("- private\n")
    path = memory.path("facts")
    assert path is not None
    path.parent.mkdir(parents=True)
    path.symlink_to(secret)
    assert memory.items("facts") == ()
    with pytest.raises(StoreError, match="is a link"):
        memory.add("facts", "x", "2026-11-30")
    assert secret.read_text() == "- private\n"


def test_the_persons_own_links_are_theirs(memory: Memory, tmp_path: Path) -> None:
    """ORD-10: settings often lie elsewhere and are linked in; what changes there is seen."""
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "elsewhere.md").write_text("- one\n")
    (kept / "corrections.md").symlink_to("elsewhere.md")
    path = memory.path("corrections", "person")
    assert path is not None
    path.parent.parent.mkdir(parents=True, exist_ok=True)
    path.parent.symlink_to(kept)
    assert memory.check("corrections", "person") == path
    assert [item.text for item in memory.items("corrections")] == ["one"]
    (kept / "elsewhere.md").write_text("- two\n")
    assert [item.text for item in memory.items("corrections")] == ["two"]
    (kept / "elsewhere.md").unlink()
    assert memory.items("corrections") == ()


def test_what_is_no_file_is_not_waited_for(memory: Memory) -> None:
    """A pipe in a file's place would never end."""
    path = memory.path("facts")
    assert path is not None
    path.parent.mkdir(parents=True)
    os.mkfifo(path)
    with pytest.raises(StoreError, match=r"facts\.md is no file"):
        memory.items("facts")
    with pytest.raises(StoreError, match="move it away"):
        memory.add("facts", "x", "2026-11-30")


def test_too_much_is_refused_and_nothing_is_lost(memory: Memory) -> None:
    memory.replace("context-notes", "kept\n")
    with pytest.raises(StoreError, match="shorten"):
        memory.replace("context-notes", "x" * (LARGEST + 1))
    with pytest.raises(StoreError, match="2,000 characters"):
        memory.add("facts", "x" * 2_001, "2026-11-30")
    assert memory.text("context-notes") == "kept\n"


def test_best_match_comes_first_and_of_equals_the_later() -> None:
    """ORD-10: by full text and recency; what has no word of the query is no match."""
    texts = [
        "the login page uses OAuth", "tests run with pytest", "the login tests need a browser",
        "tests run with tox",
    ]  # fmt: skip
    items = [Item(text=text, keeper="workspace", line=n) for n, text in enumerate(texts, 1)]
    matches = ranked(items, "Why does the login test fail? tests/login")
    found = [match.item.text for match in matches]
    assert found[0] == "the login tests need a browser"
    assert (matches[0].words, matches[0].later) == (("the", "login", "tests"), 1)
    assert [text for text in found if text.startswith("tests run")] == [texts[3], texts[1]]
    assert ranked(items, "") == []
    assert ranked(items, '"*: ( ) - NEAR AND') == []
    assert ranked([], "login") == []


def test_a_match_names_the_words_that_it_has_of_the_query() -> None:
    """ORD-10: as they stand in the item, each once, parts of a name too."""
    items = [
        Item(text="listSessions is slow in the café", keeper="workspace", line=1),
        Item(text="a session lives in one file", keeper="person", line=1),
    ]
    matches = {match.item.keeper: match for match in ranked(items, "Cafe sessions, Sessions?")}
    assert set(matches) == {"workspace"}
    assert set(matches["workspace"].words) == {"café", "sessions"}
    assert matches["workspace"].later == 0
