"""ENG-5: whole events and damage, from bytes alone."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nodwyn_tui.domain import events as ev
from nodwyn_tui.store.lines import encode
from nodwyn_tui.store.position import Position
from nodwyn_tui.store.scan import MAX_GAP, Scan, scan
from tests.fakes.sessions import ToldClock, called_reply, one_of_each, turn


def lines(*appends: ev.Event | tuple[ev.Event, ...]) -> list[bytes]:
    """The lines of a sound log, for each append one draft or a batch."""
    position, found = Position(), []
    for drafts in appends:
        batch = drafts if isinstance(drafts, tuple) else (drafts,)
        events, position = position.place(batch, ToldClock().now())
        found += map(encode, events)
    return found


def seqs(found: Scan) -> list[int]:
    return [event.seq for event in found.events]


def check(found: Scan) -> None:
    """No byte is lost but blanks, and no event is there twice."""
    pieces = [*found.lines(), *(chunk.data for chunk in found.damage.chunks)]
    kept = sum(len(b"".join(piece.split())) for piece in pieces)
    assert kept == len(b"".join(found.data.split()))
    assert seqs(found) == sorted(set(seqs(found)))
    assert not set(seqs(found)) & set(found.damage.missing)
    assert found.last_seq >= max([0, *seqs(found), *found.damage.missing])
    again = scan(b"".join(found.lines()))
    assert again.events == found.events
    assert not again.damage.chunks


TURNS = lines(*map(turn, range(8)))


def test_sound_log_has_no_damage() -> None:
    found = scan(b"".join(TURNS))
    assert seqs(found) == [1, 2, 3, 4, 5, 6, 7, 8]
    assert not found.damage
    assert found.ended
    assert found.last_seq == 8
    assert scan(b"").last_seq == 0
    assert not scan(b"").damage


def test_missing_line_end_blank_lines_and_carriage_returns_are_no_damage() -> None:
    data = b"\n".join(line.rstrip(b"\n") + b"\r\n" for line in TURNS).rstrip()
    found = scan(b"\n" + data)
    assert seqs(found) == list(range(1, 9))
    assert not found.damage
    assert not found.ended


def test_torn_last_line_tells_its_seq() -> None:
    """C63, C66: the seq of what was torn is lost for good, at whatever byte the tear is."""
    for cut in range(1, len(TURNS[7]) - 1):
        found = scan(b"".join(TURNS[:7]) + TURNS[7][:cut])
        assert seqs(found) == list(range(1, 8))
        assert found.damage.missing == (8,)
        assert found.last_seq == 8
        assert [chunk.data for chunk in found.damage.chunks] == [TURNS[7][:cut]]


def test_whole_line_glued_behind_a_torn_one_is_used() -> None:
    """C63: what an earlier program glued to half a line was acknowledged, and is whole."""
    data = b"".join([*TURNS[:3], TURNS[3][:20], *TURNS[4:]])
    found = scan(data)
    assert seqs(found) == [1, 2, 3, 5, 6, 7, 8]
    assert [chunk.data for chunk in found.damage.chunks] == [TURNS[3][:20]]
    assert found.damage.missing == (4,)
    check(found)


def test_lines_without_their_ends_are_told_apart() -> None:
    found = scan(b"".join(line.rstrip(b"\n") for line in TURNS))
    assert seqs(found) == list(range(1, 9))
    assert not found.damage
    assert b"".join(found.lines()) == b"".join(TURNS)


def test_bytes_before_and_behind_events_are_set_aside() -> None:
    """C64, C65: NUL blocks, foreign lines, a byte order mark."""
    nul = b"\0" * 300
    data = b"".join([b"\xef\xbb\xbf", *TURNS[:3], nul, TURNS[3], b"17\n", *TURNS[4:6], nul])
    found = scan(data)
    assert seqs(found) == list(range(1, 7))
    assert [chunk.data for chunk in found.damage.chunks] == [b"\xef\xbb\xbf", nul, b"17\n", nul]
    assert [data[c.offset : c.offset + 3] for c in found.damage.chunks] == [
        c.data[:3] for c in found.damage.chunks
    ]
    assert "NUL" in found.damage.chunks[1].why
    assert found.damage.missing == (7,)  # the last block may have been an event
    assert found.damage.bytes == 3 + 300 + 3 + 300


@pytest.mark.parametrize("lost", [{2}, {3}, {4}, {2, 3, 4}, {3, 4}])
def test_batch_stands_or_falls_as_one(lost: set[int]) -> None:
    """ENG-3: a reply whose calls are not all there is set aside with them, wherever the damage."""
    whole = lines(turn(0), called_reply(2), turn(2))
    for damage in (b"\0" * 40 + b"\n", None):
        bad = [
            (line[:90] + b"\n" if damage is None else damage) if number in lost else line
            for number, line in enumerate(whole, 1)
        ]
        found = scan(b"".join(bad))
        expected = [1, 5]
        if damage and 2 in lost:  # nothing tells any more that the calls were part of a batch
            expected = sorted({1, 3, 4, 5} - lost)
        assert seqs(found) == expected
        assert set(found.damage.missing) == {1, 2, 3, 4, 5} - set(expected)
        check(found)


def test_batch_torn_at_the_end_uses_up_all_its_seqs() -> None:
    whole = lines(turn(0), called_reply(3))
    for cut in range(len(b"".join(whole[1:])) - 1):
        found = scan(whole[0] + b"".join(whole[1:])[:cut])
        assert seqs(found) == [1]
        if b'"batch":4,' in whole[1][:cut]:
            assert found.damage.missing == (2, 3, 4, 5)


def test_parts_of_a_rollover_count_each_by_itself() -> None:
    """ENG-3, ROL-1: a torn rollover is a window that counts as already fresh."""
    rollover = (
        ev.WindowReset(kind="rollover", rollover_id="r"),
        ev.WindowLeadIn(rollover_id="r", text="go on"),
        ev.UserMessage(text="and this"),
    )
    whole = lines(turn(0), rollover)
    found = scan(b"".join(whole[:3]) + whole[3][:30])
    assert seqs(found) == [1, 2, 3]
    assert found.damage.missing == (4,)
    manual = lines(turn(0), (ev.WindowReset(kind="manual"), ev.Note(text="cleared")))
    assert seqs(scan(b"".join(manual[:2]))) == [1]


@pytest.mark.parametrize(
    ("order", "kept"),
    [
        ([1, 2, 3, 3, 4], [1, 2, 3, 4]),  # a line twice
        ([1, 2, 3, 2, 4], [1, 2, 3, 4]),  # one that goes back
        ([1, 2, 7, 3, 4], [1, 2, 3, 4]),  # one that leaps ahead
        ([5, 1, 2, 3], [1, 2, 3]),
        ([1, 2, 3, 1, 2, 3], [1, 2, 3]),  # the whole file twice
        ([1, 2, 3 + MAX_GAP], [1, 2]),
        ([2**53], []),
    ],
)
def test_lines_out_of_order_are_set_aside(order: list[int], kept: list[int]) -> None:
    """The longest rising run is the log's own; of equal lines the first."""
    notes = [ev.Note(seq=seq, text=f"{place}") for place, seq in enumerate(order)]
    found = scan(b"".join(map(encode, notes)))
    assert seqs(found) == kept
    assert [event.text for event in found.events if isinstance(event, ev.Note)] == [
        str(order.index(seq)) for seq in kept
    ]
    assert found.damage.missing == ()
    assert found.last_seq == max(kept, default=0)
    assert {chunk.why for chunk in found.damage.chunks} == {"out of order, or a second time"}
    check(found)


def test_lost_lines_are_named_once() -> None:
    """Lines that somebody cut out leave no bytes, but their seqs; a recovery has named its own."""
    report = ev.SessionRecovered(missing=(2, 3), bytes=0)
    data = TURNS[0] + encode(ev.Note(seq=4, text="n"))
    assert scan(data).damage.missing == (2, 3)
    behind = data + encode(ev.SessionRecovered(seq=5, missing=report.missing))
    assert not scan(behind).damage
    assert scan(behind + encode(ev.Note(seq=7, text="n"))).damage.missing == (6,)


def test_figure_that_is_damaged_condemns_nothing_else() -> None:
    huge = ev.Note(seq=2, text="n", batch=10**6)
    found = scan(TURNS[0] + encode(huge) + b"".join(TURNS[2:]))
    assert seqs(found) == list(range(1, 9))
    torn = b'{"seq":900000000,"at":"","type":"note","ctx":0,"run":0,"batch":4000,"te\n'
    found = scan(b"".join(TURNS[:4]) + torn + b"".join(TURNS[4:]))
    assert seqs(found) == list(range(1, 9))
    assert found.last_seq == 8
    assert scan(b"".join(TURNS) + torn).last_seq == 9
    assert scan(b"".join(TURNS) + TURNS[3][:40]).last_seq == 8


def test_repeated_append_behind_its_own_failed_half_is_whole() -> None:
    """What a disk took only in part is written again with the same seqs."""
    whole = lines(turn(0), called_reply(2), turn(2))
    for cut in (5, len(whole[1]) + 5, len(whole[1]) + len(whole[2]) + 5):
        half = b"".join(whole[1:4])[:cut] + b"\n"
        found = scan(whole[0] + half + b"".join(whole[1:]))
        assert seqs(found) == [1, 2, 3, 4, 5]
        assert found.damage.missing == ()


def test_broken_line_full_of_beginnings_costs_no_more_than_its_length() -> None:
    for line in (b'{"seq":' * 40_000, b'{"seq":1,"type":"note"' * 20_000, b'{"seq":[' * 40_000):
        found = scan(TURNS[0] + line + b"\n" + TURNS[1])
        assert seqs(found) == [1, 2]


MESSY = st.lists(
    st.one_of(
        st.sampled_from(TURNS),
        st.sampled_from(lines(called_reply(2), called_reply(1))),
        st.sampled_from(lines(*one_of_each())),
        st.builds(lambda line, cut: line[cut], st.sampled_from(TURNS), st.slices(99)),
        st.binary(max_size=30),
        st.sampled_from([b"\0" * 9, b"\n", b"{}\n", json.dumps({"n": 1}).encode(), b'{"seq":3,']),
    ),
    max_size=14,
)  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(MESSY)
def test_any_bytes_are_read_and_none_is_lost(pieces: list[bytes]) -> None:
    """REL-4: the reader, fuzzed."""
    check(scan(b"".join(pieces)))
