"""What an archive answers, held against a full read of its log."""

import dataclasses
import re
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from nodwyn_tui.domain import events as ev
from nodwyn_tui.store.archive import Archive
from nodwyn_tui.store.lines import encode
from nodwyn_tui.store.log import Log
from nodwyn_tui.store.words import text_of
from tests.fakes.folding import Started, Starts
from tests.fakes.sessions import called_reply, one_of_each, session_folder, turn

WORDS = ("turn", "echo", "nowhere", "größe", "0", "note 1", "-")


def written(folder: Path, events: Sequence[ev.Event], name: str = "log.jsonl") -> Path:
    """A log of these events, with the seqs that they have."""
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / name
    log.write_bytes(b"".join(map(_line, events)))
    return log


def _line(event: ev.Event) -> bytes:
    if isinstance(event, ev.UnknownEvent):  # its line is what another build wrote
        event = dataclasses.replace(event, raw={"seq": event.seq, **event.raw})
    return encode(event)


def numbered(*drafts: ev.Event) -> list[ev.Event]:
    """The drafts with seqs from 1 on."""
    return [dataclasses.replace(draft, seq=seq) for seq, draft in enumerate(drafts, 1)]


def drafts(turns: int) -> list[ev.Event]:
    """One of each kind, and turns with calls."""
    return [
        *one_of_each(),
        *(draft for number in range(turns) for draft in (*called_reply(2), turn(number))),
    ]


def session(workspace: Path, turns: int = 20) -> Path:
    """A session with an index; its log."""
    log = written(session_folder(workspace), numbered(*drafts(turns)))
    log.with_name("no-replay").touch()  # its requests are made up
    with closing(Archive(log, Starts())) as archive:
        assert archive.catch_up()
    assert index_of(log).stat().st_size > 10_000
    return log


def index_of(log: Path) -> Path:
    """Where a log's index is."""
    return log.with_name("index.sqlite")


def verify(log: Path) -> None:
    """What a new archive answers, and one that finds what that one left."""
    for _ in range(2):
        with closing(Archive(log, Starts())) as archive:
            check(log, archive)


def check(log: Path, archive: Archive) -> None:
    """Each answer is what a full read tells."""
    read = Log.read(log)
    sound = not read.damage and log.read_bytes()[-1:] in (b"", b"\n")
    assert archive.catch_up() == sound
    assert tuple(archive.events()) == read.events
    last = max((event.seq for event in read.events), default=0)
    by_seq = {event.seq: event for event in read.events}
    for seq in range(min(last, 100) + 3):
        assert archive.event(seq) == by_seq.get(seq)
    assert (archive.last_seq, archive.count) == (last, len(read.events))
    check_fold(read.events, archive)
    check_calls(read.events, archive)
    for words in WORDS:
        starts = [re.compile(rf"(?<![^\W_])(?=\w){word}|(?!\w){word}") for word in words.split()]
        texts = {event.seq: text_of(event).lower() for event in read.events}
        fitting = [seq for seq, text in texts.items() if all(word.search(text) for word in starts)]
        assert [hit.seq for hit in archive.search(words, 10_000)] == fitting[::-1]


def check_fold(events: Sequence[ev.Event], archive: Archive) -> None:
    """The fold that was kept is that of all events."""
    if isinstance(archive.fold, Started):
        fold = Starts().new()
        for event in events:
            fold.feed(event)
        assert archive.fold.state() == fold.state()
        needed = tuple(event for event in events if fold.tracker.needs(event.seq))
        assert archive.from_start() == needed


def check_calls(events: Sequence[ev.Event], archive: Archive) -> None:
    """Calls and their results, of ids used once or again."""
    results: dict[str, int | None] = {}
    for event in events:
        if isinstance(event, ev.ToolCall):
            results[event.call_id] = None
        elif isinstance(event, ev.ToolResult) and results.get(event.call_id) is None:
            results[event.call_id] = event.seq
    assert {call_id: archive.result_of(call_id) for call_id in results} == results
    assert all(archive.knows_call(call_id) for call_id in results)
    assert not archive.knows_call("nobody's")
