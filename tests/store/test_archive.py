"""ENG-7: whatever is asked of an archive, it answers what a full read of the log tells."""

import dataclasses
import os
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodwyn_tui.domain import events as ev
from nodwyn_tui.errors import StoreError
from nodwyn_tui.store import database
from nodwyn_tui.store.archive import Archive
from nodwyn_tui.store.lines import encode
from nodwyn_tui.store.log import Log
from nodwyn_tui.store.reading import LogReader, NotThere
from nodwyn_tui.store.recovery import mend, position_behind
from nodwyn_tui.store.redact import Redactor
from nodwyn_tui.store.scan import scan
from nodwyn_tui.store.words import text_of
from nodwyn_tui.window.replay import replay
from tests.builders import LogBuilder
from tests.fakes.archives import check, numbered, written
from tests.fakes.folding import Starts
from tests.fakes.sessions import ToldClock, called_reply, one_of_each, start, turn
from tests.generated import EACH_EVENT, STEPS, VERSIONS, played


def batch(calls: int) -> list[ev.Event]:
    first, *others = called_reply(calls)
    return [dataclasses.replace(first, batch=calls + 1), *others]


@EACH_EVENT
@given(STEPS, VERSIONS)
def test_any_session_is_answered_as_a_full_read_and_its_requests_replay(
    tmp_path_factory: pytest.TempPathFactory, steps: list[object], version: int
) -> None:
    session = played(steps, version)  # type: ignore[arg-type]
    log = written(tmp_path_factory.mktemp("log"), session.events)
    archive = Archive(log, Starts())
    check(log, archive)
    again = Archive(log.parent, Starts())
    check(log, again)
    if version >= 20:
        for request, window in session.windows:
            needed = again.needed(request.seq)
            assert needed[-1] == request
            assert replay(needed, request.seq).digest == window.digest
    again.close()
    archive.close()


HARMS = st.sampled_from(["cut", "nul", "drop", "glue", "twice", "torn"])
CUTS = st.lists(st.tuples(st.integers(0, 10_000), HARMS), max_size=3)


def damaged(lines: list[bytes], cuts: Sequence[tuple[int, str]]) -> bytes:
    for where, how in cuts:
        at = where % len(lines)
        line = lines[at]
        match how:
            case "cut":
                lines[at] = line[: where % (len(line) + 1)]
            case "nul":
                lines[at] = b"\0" * len(line)
            case "drop":
                del lines[at]
            case "glue":
                lines[at] = line.rstrip(b"\n")
            case "twice":
                lines.insert(where % 7, line)
            case "torn":
                lines[at:] = [line[: where % (len(line) + 1)]]
        if not lines:
            return b""
    return b"".join(lines)


@EACH_EVENT
@given(CUTS)
def test_damage_of_any_kind_is_answered_as_a_full_read(
    tmp_path_factory: pytest.TempPathFactory, cuts: list[tuple[int, str]]
) -> None:
    """ENG-5: also before it is mended; and it is mended as without an index."""
    drafts = [*one_of_each(), *batch(2), ev.Note(text="between"), *batch(3)]
    lines = [*map(encode, numbered(*drafts))]
    folder = tmp_path_factory.mktemp("log")
    log = folder / "log.jsonl"
    log.write_bytes(damaged(lines, cuts))
    archive = Archive(log, Starts())
    check(log, archive)
    with log.open("ab") as file:
        file.write(encode(ev.Note(seq=len(lines) + 9, text="more")))
    check(log, archive)
    archive.close()
    twin = tmp_path_factory.mktemp("twin") / "log.jsonl"
    twin.write_bytes(log.read_bytes())
    found = scan(twin.read_bytes())
    mended = mend(twin, found, ToldClock().now())
    opened, contents = Log.open(folder, ToldClock(), Redactor())
    opened.close()
    assert (contents.events, contents.damage) == (mended, found.damage)
    assert opened.next_seq == position_behind(mended, found.last_seq).next_seq
    assert log.read_bytes() == twin.read_bytes()


def begins_well(event: ev.Event | None) -> bool:
    """Whether a page may begin with it."""
    return isinstance(event, ev.UserMessage | ev.LlmRequest)


@EACH_EVENT
@given(STEPS, st.integers(1, 12))
def test_pages_cover_a_session_once_from_either_end(
    tmp_path_factory: pytest.TempPathFactory, steps: list[object], count: int
) -> None:
    session = played(steps)  # type: ignore[arg-type]
    log = written(tmp_path_factory.mktemp("log"), session.events)
    seqs = [event.seq for event in session.events]
    last = seqs[-1]
    with closing(Archive(log)) as archive:
        assert archive.page(last + 1, 10_000) == (1, last)
        assert archive.page_after(0, 10_000) == (1, last)
        assert archive.page(1, count) == (1, 0)
        assert archive.page_after(last, count) == (last + 1, last)
        covered: list[int] = []
        first = last + 1
        while first > 1:
            first, end = archive.page(first, count)
            page = [seq for seq in seqs if first <= seq <= end]
            assert first == 1 or (len(page) >= count and begins_well(archive.event(first)))
            covered = [*page, *covered]
        assert covered == seqs
        covered, end = [], 0
        while end < last:
            first, end = archive.page_after(end, count)
            page = [seq for seq in seqs if first <= seq <= end]
            following = next((seq for seq in seqs if seq > end), 0)
            assert not following or (len(page) >= count and begins_well(archive.event(following)))
            covered += page
        assert covered == seqs


def test_pages_do_not_begin_within_a_sub_context_or_among_calls(tmp_path: Path) -> None:
    """Calls stand with their results; a sub-context's messages are not the conversation's."""
    drafts: list[ev.Event] = [
        start(),
        ev.UserMessage(text="go"),
        *called_reply(2),
        ev.ContextOpen(id=9, parent=0, kind="task", ctx=9),
        *(ev.UserMessage(text="inner", ctx=9) for _ in range(5)),
        ev.ContextClose(id=9, ctx=9),
        ev.ToolResult(call_id="c0", name="t", text=""),
        ev.ToolResult(call_id="c1", name="t", text=""),
        ev.UserMessage(text="more"),
        ev.Note(text="last"),
    ]
    with closing(Archive(written(tmp_path, numbered(*drafts)))) as archive:
        assert archive.page(17, 1) == archive.page(17, 2) == (15, 16)
        assert archive.page(17, 3) == (2, 16)
        assert archive.page(15, 1) == (2, 14)
        assert archive.page_after(2, 1) == (3, 14)


def test_page_of_a_log_that_lost_its_beginning_ends_there(tmp_path: Path) -> None:
    """ENG-5: seq 1 is lost; nobody looks for it for ever."""
    log = written(tmp_path, numbered(start(), ev.Note(text="1"), ev.Note(text="2"))[1:])
    with closing(Archive(log)) as archive:
        assert archive.page(4, 10) == (1, 3)
        assert archive.page(2, 10) == (1, 0)
        assert archive.page_after(0, 10) == (2, 3)


def test_what_a_request_needs(tmp_path: Path) -> None:
    """ENG-26: from its window's start on, and the recipe; in a sub-context, all of that one."""
    session = LogBuilder()
    session.user("before")
    session.ctx = 77
    opened = session.add(ev.ContextOpen(id=77, parent=0, kind="task"))
    session.user("inner")
    session.ctx = 0
    reset = session.clear()
    session.user("after")
    asked, _ = session.request()
    session.ctx = 77
    inner, _ = session.request()
    log = written(tmp_path, session.events)
    log.with_name("no-replay").touch()
    with closing(Archive(log, Starts())) as archive:
        assert [e.seq for e in archive.needed(asked.seq)] == [1, *range(reset.seq, asked.seq + 1)]
        assert [e.seq for e in archive.needed(inner.seq)] == [1, *range(opened.seq, inner.seq + 1)]
        assert archive.needed(reset.seq) == tuple(session.events[: reset.seq])
        assert archive.needed(99) == tuple(session.events)
    with closing(Archive(log)) as archive:  # the fold that is kept there has told
        assert len(archive.needed(asked.seq)) == asked.seq - reset.seq + 2


def test_an_id_that_is_used_again_is_the_later_calls(tmp_path: Path) -> None:
    """In damaged and foreign logs: the first result of the latest call counts."""
    call = ev.ToolCall(resp=1, call_id="c", name="t", arguments="")
    result = ev.ToolResult(call_id="c", name="t", text="")
    with closing(Archive(written(tmp_path, numbered(call, result, result)))) as archive:
        assert archive.result_of("c") == 2
        assert archive.result_of("d") is None
    with closing(Archive(written(tmp_path, numbered(call, result, call)))) as archive:
        assert archive.result_of("c") is None
        assert archive.knows_call("c")


def test_numbers_of_a_strangers_line_fit(tmp_path: Path) -> None:
    """SQLite holds 64 bits; JSON holds any."""
    lines = [
        b'{"seq":1,"at":"","type":"ctx.open","ctx":0,"run":0,"id":#,"parent":0,"kind":"x"}\n',
        b'{"seq":2,"at":"","type":"note","ctx":#,"run":-#,"text":"big"}\n',
    ]
    log = tmp_path / "log.jsonl"
    log.write_bytes(b"".join(lines).replace(b"#", b"%d" % 10**30))
    with closing(Archive(log, Starts())) as archive:
        check(log, archive)
        assert archive.event(10**30) is None
        assert archive.page(10**30, 10**30) == (1, 2)


def test_what_is_no_log_is_said_to_be_none(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for place in (tmp_path / "none", tmp_path, tmp_path / "pipe"):
        with closing(Archive(place)) as archive, pytest.raises(StoreError):
            archive.catch_up()


def test_log_that_never_holds_still_is_given_up(tmp_path: Path) -> None:
    class Unsteady(LogReader):
        def event(self, seq: int, offset: int, length: int) -> ev.Event:
            raise NotThere

    log = written(tmp_path, numbered(start()))
    archive = Archive(log, opener=lambda: Unsteady(log, os.open(log, os.O_RDONLY)))
    with closing(archive), pytest.raises(StoreError, match="changes while it is read"):
        archive.event(1)


def test_without_full_text_a_search_reads_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An SQLite may be built without it."""
    log = written(tmp_path, numbered(*one_of_each()))
    log.with_name("no-replay").touch()  # its requests are made up
    monkeypatch.setattr(database, "WORDS", "CREATE VIRTUAL TABLE words USING nothing(said)")
    for cached in (database._knows_words, database._our_schema):
        cached.cache_clear()
    with closing(Archive(log, Starts())) as archive:
        assert not archive._index.tables.has_words
        assert [hit.snippet for hit in archive.search("mind", 5)] == ["mind this"]
        assert [hit.snippet for hit in archive.search("ind thi", 5)] == ["mind this"]
    for cached in (database._knows_words, database._our_schema):
        cached.cache_clear()


def test_places_and_words_are_told_only_where_that_takes_little(tmp_path: Path) -> None:
    """ROL-11: a search of the session's history never waits for an index to be made."""
    filler = [ev.UserMessage(text="x" * 1_000_000)] * 3
    turns = [turn(number) for number in range(300)]
    log = written(tmp_path, numbered(start(), *filler, *turns))
    with closing(Archive(log)) as cold:
        assert (cold.likely("turn", 2**62, 50), cold.place(3)) == (None, None)
        cold.catch_up()
    with closing(Archive(log)) as archive:
        found = archive.likely("turn 29", 2**62, 50)
        assert found is not None
        with LogReader.open(log) as reader:
            texts = [text_of(reader.event(*row)) for row in found]
            assert texts == [f"turn {n} \u2013 größe {n}" for n in (*range(299, 289, -1), 29)]
            for seq in (1, 3, 304):
                offset = archive.place(seq)
                assert offset is not None
                assert reader.at(offset, 20).startswith(b'{"seq":%d,' % seq)
        assert archive.likely("turn 29", found[0][0], 1) == found[1:2]
        assert archive.likely("--", 2**62, 50) == (), "no word to ask for"
        others = archive.others("--", 2**62, 500)
        assert others is not None
        assert len(others) == 303, "any may hold it"
        assert archive.others("turn 29", 2**62, 50) == [], "all that hold both are named"
        assert len(archive.others("urn 29", 2**62, 50) or ()) == 11, "the 29 begins a word"
        assert archive.place(305) is None
    for index in tmp_path.glob("index.sqlite*"):
        index.unlink()
    short = written(tmp_path / "short", numbered(start(), *turns))
    with closing(Archive(short)) as archive:
        assert archive.place(3) is not None, "a short log is taken in at once"
