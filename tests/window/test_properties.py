"""What holds in every generated session (REL-4), for the kinds of events this build writes."""

import json

from hypothesis import given

from nodwyn_tui.domain import events as ev
from nodwyn_tui.domain.canonical import message_value, request_bytes, sha256
from nodwyn_tui.domain.events import EVENT_TYPES
from nodwyn_tui.domain.parts import Call, Text
from nodwyn_tui.domain.recipe import KeepReasoning
from nodwyn_tui.domain.request import AssistantRow, ToolRow, UserRow
from nodwyn_tui.window.build import build
from nodwyn_tui.window.contexts import StartTracker, place
from nodwyn_tui.window.entries import BYTES_PER_TOKEN
from nodwyn_tui.window.replay import replay
from nodwyn_tui.window.rolling import Rolling
from tests.generated import (
    ASIDE,
    CALLED,
    CHANGED,
    DECLARED,
    EACH_EVENT,
    EACH_REQUEST,
    KEEPS,
    MOVED,
    PAIRED,
    SAID,
    SHAPED,
    STEPS,
    TALKED,
    VERSIONS,
    Step,
    bare,
    played,
    protected,
)


@EACH_REQUEST
@given(STEPS)
def test_fresh_rows_stand_between_history_and_what_was_said_last(steps: list[Step]) -> None:
    """ORD-1, ORD-2: never in a batch, nor before completed history; all that is due, each once."""
    session = played(steps)
    texts = {e.seq: e.text for e in session.events if isinstance(e, ev.FreshContext)}
    for request, window in session.windows:
        own = [entry for entry in window.entries if entry.seq in request.fresh]
        assert [entry.seq for entry in own] == list(request.fresh)
        assert [entry.message for entry in own] == [
            UserRow((Text(texts[seq]),)) for seq in request.fresh
        ]
        if own:
            assert window.history is not None
            assert window.entries[window.history : window.history + len(own)] == tuple(own)
            behind = window.entries[window.history + len(own) :]
            assert {entry.kind for entry in behind} <= {"user", "attachment", "note", "warning"}
            before = window.entries[window.history - 1 : window.history]
            assert {entry.kind for entry in before}.isdisjoint({"user", "attachment", "warning"})


def test_sessions_hold_every_kind_of_line() -> None:
    """REL-4, ENG-23."""
    steps: list[Step] = [("user", 3)] * 4
    steps += [("placed", 0), ("says", 1)]
    steps += [(kind, 9) for kind in (*SAID, *TALKED, *CALLED, *MOVED, *SHAPED)] + [("calls", [0])]
    steps += [("aside", number) for number in range(len(ASIDE))] + [("user", 3)] * 4
    steps += [(kind, 1) for kind in (*CALLED, *CHANGED)]
    kinds = {event.type for event in played(steps).events}
    assert set(EVENT_TYPES) - kinds == set()


@EACH_REQUEST
@given(STEPS, PAIRED)
def test_no_request_has_an_orphan_or_an_unanswered_call(steps: list[Step], version: int) -> None:
    """ENG-16: results follow their reply directly, in the order of its calls, each once."""
    for _, window in played(steps, version).windows:
        due: list[str] = []
        for row in window.request.messages:
            if isinstance(row, ToolRow):
                assert due
                assert row.call_id == due.pop(0)
                continue
            assert due == []
            if isinstance(row, AssistantRow):
                due = [part.id for part in row.parts if isinstance(part, Call)]
        assert due == []


@EACH_REQUEST
@given(STEPS)
def test_no_part_is_blank_and_the_person_speaks_first(steps: list[Step]) -> None:
    """C11, C17."""
    for _, window in played(steps).windows:
        for row in window.request.messages:
            assert row.parts
            assert all(part.text.strip() for part in row.parts if isinstance(part, Text))
        # A summary may stand first; translators put a short line of the person before it.
        first = window.entries[0]
        assert isinstance(first.message, UserRow) or first.kind == "summary"


@EACH_REQUEST
@given(STEPS, PAIRED)
def test_prefix_is_stable_between_declared_events(steps: list[Step], version: int) -> None:
    """Each request is the one before with messages appended, until a declared event: a line of the
    log, an elision, an image that is withheld or shown again. Of one with fresh rows of its own the
    history stays, and what the person had said comes right behind it (ORD-1, ORD-8).
    """
    session = played(steps, version)
    for (was, before), (now, after) in zip(session.windows, session.windows[1:], strict=False):
        between = session.events[was.seq : now.seq - 1]
        changed = now.elided or now.withheld_images != was.withheld_images or session.late
        if changed or any(isinstance(event, DECLARED) for event in between):
            continue
        kept, goes_on = bare(before).request.messages, bare(after).request.messages
        assert goes_on[: len(kept)] == kept
        past = before.request.messages[: before.history]
        assert after.request.messages[: len(past)] == past
        assert after.request.system == before.request.system
        if now.no_tools == was.no_tools:
            assert after.request.tools == before.request.tools


@EACH_REQUEST
@given(STEPS, PAIRED)
def test_block_goes_back_only_behind_what_stood_before_it(steps: list[Step], version: int) -> None:
    """ENG-20: what a provider that checks it would check."""
    session = played(steps, version)
    shown = {request.seq: bare(window).request.messages for request, window in session.windows}
    asked = {e.seq: e.req for e in session.events if isinstance(e, ev.LlmResponse)}
    if session.late:
        return
    for _, shown_now in session.windows:
        window = bare(shown_now)
        for index, entry in enumerate(window.entries):
            if entry.has_blocks:
                assert window.request.messages[:index] == shown[asked[entry.seq]]


@EACH_REQUEST
@given(STEPS, PAIRED)
def test_what_is_elided_stays_so_until_somebody_says_otherwise(
    steps: list[Step], version: int
) -> None:
    """ENG-15: but for summaries, the person's restoring, another start, and a handover note that
    was asked for in vain: what its own request elided, it elided for itself.
    """
    session = played(steps, version)
    for (was, before), (now, after) in zip(session.windows, session.windows[1:], strict=False):
        between = session.events[was.seq : now.seq - 1]
        restarts = any(isinstance(e, ev.SummaryAdd | ev.SummaryRevoke) for e in between)
        restores = any(isinstance(e, ev.WindowEdit) and e.action == "restore" for e in between)
        moved = place(session.events[: was.seq]) != place(session.events[: now.seq])
        rewound = any(isinstance(e, ev.WindowRewind) and e.to <= was.seq for e in between)
        in_vain = was.purpose == "handover" and rewound
        if not (restarts or restores or moved or in_vain):
            assert before.elided <= after.elided


@EACH_REQUEST
@given(STEPS, VERSIONS)
def test_a_handover_note_asked_for_in_vain_changes_nothing(steps: list[Step], version: int) -> None:
    """AGT-16: however hard its request was trimmed, the next one is what it would have been."""
    for before, after in played(steps, version).taken_back:
        assert after == before
        assert after.digest == before.digest


@EACH_REQUEST
@given(STEPS, VERSIONS, KEEPS)
def test_every_request_replays(steps: list[Step], version: int, keep: KeepReasoning) -> None:
    """ENG-26; ENG-27: the digest that was hashed in pieces is the request's own."""
    session = played(steps, version, keep)
    for request, window in session.windows:
        assert sha256(request_bytes(window.request)) == request.digest
        assert replay(session.events, request.seq) == window


@EACH_EVENT
@given(STEPS, VERSIONS, KEEPS)
def test_window_from_its_start_equals_the_window_from_all(
    steps: list[Step], version: int, keep: KeepReasoning
) -> None:
    """ENG-23."""
    session = played(steps, version, keep)
    tracker = StartTracker(resets=version >= 20)
    recipe = session.recipe
    for seq, event in enumerate(session.events, 1):
        tracker.feed(event)
        if isinstance(event, ev.RecipeEvent):
            recipe = event.recipe
        if recipe.version != version:
            return
        events = session.events[:seq]
        kept = [earlier for earlier in events if tracker.needs(earlier.seq)]
        assert build(kept, recipe, at=tracker.place) == build(events, recipe)
        assert place(kept, resets=version >= 20) == tracker.place


@EACH_EVENT
@given(STEPS, KEEPS)
def test_resumed_session_follows_on_as_one_that_went_on(
    steps: list[Step], keep: KeepReasoning
) -> None:
    """ENG-23, ENG-11: from the events of its start on alone it gives the same windows."""
    session = played(steps, keep=keep)
    tracker, recipe = StartTracker(), session.recipe
    for seq, event in enumerate(session.events, 1):
        tracker.feed(event)
        recipe = event.recipe if isinstance(event, ev.RecipeEvent) else recipe
        if isinstance(event, ev.LlmRequest):
            resumed = Rolling()
            for earlier in session.events[:seq]:
                if tracker.needs(earlier.seq):
                    resumed.feed(earlier)
            assert resumed.window(recipe) == build(session.events[:seq], recipe)


@EACH_REQUEST
@given(STEPS)
def test_estimate_is_never_below_a_third_of_the_bytes(steps: list[Step]) -> None:
    """ENG-13."""
    for _, window in played(steps).windows:
        size = sum(
            len(json.dumps(message_value(row), ensure_ascii=False, separators=(",", ":")).encode())
            for row in window.request.messages
        )
        assert (window.estimate - window.fixed) * BYTES_PER_TOKEN >= size


@EACH_REQUEST
@given(STEPS, PAIRED)
def test_trim_reaches_low_water_or_leaves_nothing_that_may_go(
    steps: list[Step], version: int
) -> None:
    """ENG-14."""
    session = played(steps, version)
    limits = session.recipe.window
    for request, window in session.windows:
        if window.estimate <= (request.high_water or limits.high_water):
            continue
        safe = protected(window, limits.protected)
        for entry in window.entries:
            free = entry.kind in ("result", "fresh", "attachment", "assistant", "summary")
            if free and entry.state != "elided" and entry.whole and entry.seq not in safe:
                stub = f"[elided seq={entry.seq}] {entry.label}"
                assert entry.tokens <= len(stub) + 40


@EACH_REQUEST
@given(STEPS, PAIRED)
def test_latest_entries_are_never_newly_elided(steps: list[Step], version: int) -> None:
    """ENG-14: nor the replies whose results are among them."""
    session = played(steps, version)
    for _, window in session.windows:
        safe = protected(window, session.recipe.window.protected)
        assert not safe & set(window.newly)
