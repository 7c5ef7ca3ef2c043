"""ENG-5: logs that a crash, a disk or another program damaged. The damage is that of the given
files; the lines around it are this program's own.
"""

import json
import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from nodwyn_tui.domain import events as ev
from nodwyn_tui.errors import StoreError
from nodwyn_tui.store import recovery
from nodwyn_tui.store.log import Log
from tests.fakes.sessions import called_reply, new_log, open_log, session_folder, turn

CASES = Path(__file__).parent.parent / "cases" / "files"
GIVEN = ["C63", "C64", "C65", "C66", "C67"]


def session(workspace: Path, turns: int, *more: ev.Event) -> list[bytes]:
    """A closed session of `session.start` and so many turns; its lines."""
    with new_log(workspace) as log:
        for number in range(turns):
            log.append(turn(number))
        for draft in more:
            log.append(draft)
    return log.path.read_bytes().splitlines(keepends=True)


def write(workspace: Path, *pieces: bytes) -> Path:
    path = session_folder(workspace) / "log.jsonl"
    path.write_bytes(b"".join(pieces))
    return path


def texts(events: tuple[ev.Event, ...]) -> list[str]:
    """What the turns say."""
    said = []
    for event in events:
        match event:
            case ev.UserMessage():
                said.append(event.text)
            case ev.LlmResponse():
                said.append("".join(part.text for part in event.parts if hasattr(part, "text")))
            case ev.ToolResult():
                said.append(event.text)
    return said


def expected(*numbers: int) -> list[str]:
    return [f"turn {n} \u2013 größe {n}" for n in numbers]


def reports(events: tuple[ev.Event, ...]) -> list[ev.SessionRecovered]:
    return [event for event in events if isinstance(event, ev.SessionRecovered)]


def test_half_a_last_line_is_set_aside_and_the_next_is_whole(tmp_path: Path) -> None:
    """C63: earlier turns and 'hi' are there after reopening; the person was told once."""
    lines = session(tmp_path, 8)
    write(tmp_path, *lines[:8], lines[8][:47])
    log, report, events = open_log(tmp_path)
    with log:
        assert texts(events) == expected(*range(7))
        assert isinstance(report, ev.SessionRecovered)
        assert (report.seq, report.missing, report.bytes) == (10, (9,), 47)
        assert report.side_file == "log.damaged"
        log.append(ev.UserMessage(text="hi"))
    assert log.path.with_name("log.damaged").read_bytes() == lines[8][:47]
    again, report, events = open_log(tmp_path)
    with again:
        assert report is None
        assert texts(events) == [*expected(*range(7)), "hi"]
        assert len(reports(events)) == 1
        assert [event.seq for event in events] == [*range(1, 9), 10, 11]


@pytest.mark.parametrize("glued", [True, False])
def test_block_of_nul_bytes_hides_nothing_behind_it(tmp_path: Path, glued: bool) -> None:
    """C64: all 12 turns are in view, and what the block was is told."""
    lines = session(tmp_path, 12)
    block = b"\0" * 300 + (b"" if glued else b"\n")
    write(tmp_path, *lines[:7], block, *lines[7:])
    log, report, events = open_log(tmp_path)
    log.close()
    assert texts(events) == expected(*range(12))
    assert isinstance(report, ev.SessionRecovered)
    assert (report.missing, report.bytes) == ((), len(block))
    assert log.path.with_name("log.damaged").read_bytes() == block


def test_block_of_nul_bytes_in_place_of_events_names_them(tmp_path: Path) -> None:
    lines = session(tmp_path, 12)
    lost = b"".join(lines[4:7])
    write(tmp_path, *lines[:4], b"\0" * len(lost), *lines[7:])
    log, report, events = open_log(tmp_path)
    log.close()
    assert texts(events) == expected(0, 1, 2, *range(6, 12))
    assert isinstance(report, ev.SessionRecovered)
    assert (report.missing, report.bytes) == ((5, 6, 7), len(lost))


def test_single_bad_lines_hide_nothing(tmp_path: Path) -> None:
    """C65: a cut line, an unknown kind, a number; the unknown kind stays in the file."""
    lines = session(tmp_path, 12)
    unknown = (
        b'{"seq":8,"at":"2026-01-02T03:04:05.000Z","type":"future_kind_v9","ctx":0,"run":4,'
        b'"extra":{"a":1}}\n'
    )
    write(tmp_path, *lines[:4], lines[4][:20] + b"\n", *lines[5:7], unknown, lines[8], b"17\n",
          *lines[10:])  # fmt: skip
    log, report, events = open_log(tmp_path)
    with log:
        assert texts(events) == expected(0, 1, 2, 4, 5, 7, 9, 10, 11)
        assert isinstance(report, ev.SessionRecovered)
        assert (report.missing, report.bytes) == ((5, 10), 24)
        log.append(turn(12))
    assert unknown in log.path.read_bytes()
    assert [event.kind for event in Log.read(log.path).events if isinstance(event, ev.UnknownEvent)]
    assert log.path.with_name("log.damaged").read_bytes() == lines[4][:20] + b"\n17\n"


def test_write_that_stopped_inside_a_character(tmp_path: Path) -> None:
    """C66: one bad line is one bad line."""
    lines = session(tmp_path, 7, ev.UserMessage(text="price 5 €"))
    cut = lines[8].index("€".encode()) + 2
    write(tmp_path, *lines[:8], lines[8][:cut])
    log, report, events = open_log(tmp_path)
    log.close()
    assert texts(events) == expected(*range(7))
    assert isinstance(report, ev.SessionRecovered)
    assert report.missing == (9,)


def test_line_like_characters_divide_nothing(tmp_path: Path) -> None:
    """C67: equal text, the same number of records, the same bytes after a resume."""
    given = json.loads((CASES / "C67_texts.json").read_text(encoding="utf-8"))
    results = [ev.ToolResult(call_id=f"c{n}", name="t", text=text) for n, text in enumerate(given)]
    lines = session(tmp_path, 3, *results)
    before = (session_folder(tmp_path) / "log.jsonl").read_bytes()
    log, report, events = open_log(tmp_path)
    log.close()
    assert report is None
    assert texts(events) == [*expected(0, 1, 2), *given]
    assert len(lines) == len(events)
    assert log.path.read_bytes() == before


@pytest.mark.parametrize("case", GIVEN)
def test_given_file_is_no_log_of_ours_and_is_set_aside_whole(tmp_path: Path, case: str) -> None:
    """C63 to C67: the files as they are. None of their lines is an event; no byte is lost, the
    session opens and goes on, and is reported once.
    """
    given = (CASES / f"{case}_session.jsonl").read_bytes()
    path = write(tmp_path, given)
    assert Log.read(path).damage.bytes == len(given)
    log, report, events = open_log(tmp_path)
    with log:
        assert isinstance(report, ev.SessionRecovered)
        assert events == (report,)
        assert report.bytes == len(given)
        log.append(turn(0))
    assert path.with_name("log.damaged").read_bytes() == given
    again, report, events = open_log(tmp_path)
    again.close()
    assert report is None
    assert texts(events) == expected(0)


def test_several_recoveries_fill_one_side_file(tmp_path: Path) -> None:
    lines = session(tmp_path, 4)
    pieces = [b"first rubbish\n", b"second rubbish\n"]
    path = write(tmp_path, *lines[:2], pieces[0], *lines[2:])
    open_log(tmp_path)[0].close()
    path.write_bytes(path.read_bytes() + pieces[1])
    log, report, events = open_log(tmp_path)
    log.close()
    assert path.with_name("log.damaged").read_bytes() == b"".join(pieces)
    assert len(reports(events)) == 2
    assert isinstance(report, ev.SessionRecovered)
    assert report.missing == (7,)  # it may have been an event


def test_lost_seq_is_never_used_again(tmp_path: Path) -> None:
    """ENG-5: neither by this opening nor by later ones."""
    lines = session(tmp_path, 3)
    used = set(range(1, 5))
    path = session_folder(tmp_path) / "log.jsonl"
    for _ in range(4):
        path.write_bytes(path.read_bytes()[:-20])
        log, report, _ = open_log(tmp_path)
        assert isinstance(report, ev.SessionRecovered)
        assert set(report.missing) <= used
        assert report.seq not in used
        with log:
            given = {event.seq for event in log.append(*called_reply(1))}
        assert not given & used
        used |= given | {report.seq}
    assert len(lines) == 4


def test_log_cut_at_any_byte_loses_at_most_its_last_append(tmp_path: Path) -> None:
    """REL-1: and opens, says so once, and goes on."""
    with new_log(tmp_path) as log:
        log.append(turn(0))
        log.append(*called_reply(2))
        size = log.path.stat().st_size
        log.append(turn(2))
    whole = log.path.read_bytes()
    folder = session_folder(tmp_path)
    for cut in random.sample(range(size, len(whole) - 1), 40):
        (folder / "log.damaged").unlink(missing_ok=True)
        log.path.write_bytes(whole[:cut])
        reopened, report, events = open_log(tmp_path)
        with reopened:
            kept = [event.seq for event in events if event is not report]
            assert kept == [1, 2, 3, 4, 5]
            assert (report is None) == (cut == size)
            (next_,) = reopened.append(turn(3))
            assert next_.seq == (6 if report is None else 8)


def _next_step(steps: Iterator[Callable[..., None]], *arguments: object) -> None:
    next(steps, refuse)(*arguments)


def refuse(path: Path, *_rest: object) -> None:
    raise StoreError(f"cannot write {path}")


def test_disk_that_refuses_the_mending_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each step of the mending may be the last one that works: the next opening ends it, and no
    byte is set aside twice.
    """
    lines = session(tmp_path, 4)
    damaged = b"".join([*lines[:3], b"rubbish\n", *lines[3:]])
    write_whole = recovery.write_whole
    for works in (0, 1):
        path = write(tmp_path, damaged)
        steps = iter([write_whole] * works)
        with monkeypatch.context() as patched:
            patched.setattr(
                recovery, "write_whole", lambda *a, steps=steps: next(steps, refuse)(*a)
            )
            with pytest.raises(StoreError):
                open_log(tmp_path)
        assert path.read_bytes() == damaged
    log, _, events = open_log(tmp_path)
    log.close()
    assert texts(events) == expected(*range(4))
    assert path.with_name("log.damaged").read_bytes() == b"rubbish\n"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_kill_during_the_mending_loses_nothing(
    tmp_path: Path, in_child: Callable[[Callable[[], None]], int]
) -> None:
    """ENG-5, REL-1: killed at random moments, all bytes stand in the log or beside it."""
    lines = session(tmp_path, 6)
    rubbish = os.urandom(3 << 20).replace(b"\n", b" ") + b"\n"
    path = write(tmp_path, *lines[:4], rubbish, *lines[4:])
    side = path.with_name("log.damaged")

    def mend() -> None:
        open_log(tmp_path)[0].close()

    for _ in range(15):
        side.unlink(missing_ok=True)
        write(tmp_path, *lines[:4], rubbish, *lines[4:])
        child = in_child(mend)
        time.sleep(random.uniform(0, 0.04))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        assert rubbish in path.read_bytes() + (side.read_bytes() if side.exists() else b"")
        log, _, events = open_log(tmp_path)
        log.close()
        assert texts(events) == expected(*range(6))
        assert len(reports(events)) == 1
        assert side.read_bytes() == rubbish
