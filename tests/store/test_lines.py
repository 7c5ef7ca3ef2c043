"""ENG-2, C67: a line and its event."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nodwyn_tui.domain.canonical import clean, event_line
from nodwyn_tui.domain.events import EVENT_TYPES, Event, ToolResult, UnknownEvent, UserMessage
from nodwyn_tui.store.lines import NotAnEvent, decode, encode
from tests.fakes.sessions import one_of_each

CASES = Path(__file__).parent.parent / "cases" / "files"


@pytest.mark.parametrize("draft", one_of_each(), ids=lambda draft: draft.type)
def test_every_type_comes_back_equal(draft: Event) -> None:
    event = replace(draft, seq=7, at="2026-01-02T03:04:05.678Z", run=3, batch=2)
    line = encode(event)
    assert line.count(b"\n") == 1
    assert decode(line) == event
    assert encode(decode(line)) == line


def test_there_is_a_sample_of_every_type() -> None:
    assert {draft.type for draft in one_of_each()} == set(EVENT_TYPES)


def test_only_a_line_feed_ends_a_line() -> None:
    """C67: each given text is one record on one line, and comes back as it was."""
    for text in json.loads((CASES / "C67_texts.json").read_text(encoding="utf-8")):
        event = ToolResult(seq=1, call_id="c", name="t", text=text)
        line = encode(event)
        assert line.count(b"\n") == 1
        assert line.endswith(b"\n")
        assert decode(line) == event


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters(exclude_categories=[])))
def test_any_text_round_trips_with_the_same_bytes(text: str) -> None:
    """C55: whatever the text, cleaned once it is stable; the line is valid UTF-8."""
    event = UserMessage(seq=1, text=clean(text))
    line = encode(event)
    line.decode("utf-8")
    assert decode(line) == event
    assert encode(decode(line)) == line


def test_unknown_type_is_kept_as_it_came() -> None:
    raw = {
        "seq": 4, "at": "2026-01-02T03:04:05.678Z", "type": "future.kind", "ctx": 2, "run": 1,
        "deep": {"b": [1, None, "x"], "a": 1.5},
    }  # fmt: skip
    line = json.dumps(raw).encode()
    event = decode(line)
    assert isinstance(event, UnknownEvent)
    assert (event.kind, event.seq, event.ctx, event.run) == ("future.kind", 4, 2, 1)
    assert list(event_line(event).items()) == list(raw.items())
    assert decode(encode(event)) == event


def test_unknown_fields_are_kept_beside_the_known() -> None:
    line = b'{"seq":1,"at":"","type":"user.message","text":"hi","extra":5,"new":{"a":[]}}'
    event = decode(line)
    assert isinstance(event, UserMessage)
    assert event.extra == {"extra": 5, "new": {"a": []}}
    assert json.loads(encode(event)) == json.loads(line) | {
        "ctx": 0, "run": 0, "via": "prompt", "rejected": False,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"type": "user.message"}, "text: Field required"),
        ({"type": "user.message", "text": 5}, "text: Input should be a valid string"),
        ({"type": "user.message", "text": "a", "via": "smoke"}, "via: "),
        ({"type": "user.message", "text": "a", "rejected": 1}, "rejected: "),
        ({"type": "job.end", "id": "j", "exit": "1"}, "exit: "),
        ({"type": "llm.resp", "req": 1, "finish": "stop", "parts": [{"type": "smell"}]}, "parts.0"),
    ],
)
def test_invalid_value_of_a_known_type_is_kept_and_explained(
    fields: dict[str, object], why: str
) -> None:
    """ENG-2: nothing is coerced, nothing is dropped."""
    event = decode(json.dumps({"seq": 2} | fields).encode())
    assert isinstance(event, UnknownEvent)
    assert event.raw == {"seq": 2} | fields
    assert event.why.startswith(why)


@pytest.mark.parametrize(
    "line",
    [
        b"", b" ", b"17", b'"text"', b"null", b"[]", b"{}", b"\0\0", b'{"seq":1}',
        b'{"type":"note"}', b'{"seq":"1","type":"note"}', b'{"seq":true,"type":"note"}',
        b'{"seq":1.0,"type":"note"}',
        b'{"seq":0,"type":"note"}', b'{"seq":-1,"type":"note"}', b'{"seq":1,"type":2}',
        b'{"seq":99999999999999999999,"type":"note"}', b'{"seq":1,"type":"no', b"[" * 100_000,
        b'{"seq":1,"type":"note","text":"\xe2\x82"}', b'{"seq":1,"type":"note","text":"a\0b"}',
        b'{"seq":1,"type":"note"}{"seq":2,"type":"note"}', b'\xef\xbb\xbf{"seq":1,"type":"note"}',
        b'{"a":' * 5000 + b"1" + b"}" * 5000,
    ],
)  # fmt: skip
def test_what_is_no_event_is_said_to_be_none(line: bytes) -> None:
    with pytest.raises(NotAnEvent):
        decode(line)


def test_half_a_pair_written_by_another_program_is_replaced() -> None:
    """C55: JSON allows it, UTF-8 does not."""
    event = decode(b'{"seq":1,"type":"user.message","text":"a\\ud83d b","new":"\\ude00"}')
    assert isinstance(event, UserMessage)
    assert event.text == "a\ufffd b"
    assert event.extra == {"new": "\ufffd"}
    encode(event).decode("utf-8")


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=80))
def test_reader_of_a_line_never_breaks(data: bytes) -> None:
    """REL-4: an event, or the word that it is none."""
    for line in (data, b'{"seq":1,"type":"note","text":' + data + b"}", b'{"seq":1,' + data):
        try:
            decode(line)
        except NotAnEvent:
            continue
