"""ENG-7: whatever is asked of an archive, it answers what a full read of the log tells."""

import dataclasses
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodwyn_tui.domain import events as ev
from nodwyn_tui.store.archive import Archive
from nodwyn_tui.store.lines import encode
from nodwyn_tui.window.replay import replay
from tests.fakes.archives import check, numbered, written
from tests.fakes.folding import Starts
from tests.fakes.sessions import called_reply, one_of_each
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
    """ENG-5: also before it is mended; and the opened log is what it always was."""
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
