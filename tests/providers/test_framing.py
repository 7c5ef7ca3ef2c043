"""Bytes to frames: every legal form of a stream, cut anywhere (PRV-8)."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodwyn_tui.domain.deltas import Alive
from nodwyn_tui.errors import ProviderError
from nodwyn_tui.providers.base import Frame
from nodwyn_tui.providers.chat_stream import ChatDecoder
from nodwyn_tui.providers.framing import FrameDecoder, NdjsonDecoder, SseDecoder
from nodwyn_tui.providers.ollama import OllamaDecoder
from tests.providers.samples import STREAMS, decode, stream, text_of

SSE_FILES = sorted(path.name for path in STREAMS.iterdir() if path.suffix in {".sse", ".bin"})


def frames(decoder: FrameDecoder, *pieces: bytes) -> list[Frame]:
    return [f for piece in pieces for f in decoder.feed(piece)] + decoder.finish()


def cut(data: bytes, *places: int) -> list[bytes]:
    edges = [0, *sorted(places), len(data)]
    return [data[a:b] for a, b in pairwise(edges)]


@pytest.mark.parametrize("name", SSE_FILES)
def test_any_single_cut_gives_the_same_frames(name: str) -> None:
    """C23, C25: whole, byte by byte, and cut once at every place near the start and the ends."""
    data = stream(name)[:3000]
    whole = frames(SseDecoder(), data)
    assert whole
    assert frames(SseDecoder(), *(data[i : i + 1] for i in range(len(data)))) == whole
    for place in range(0, len(data), 1 if len(data) < 900 else 7):
        assert frames(SseDecoder(), *cut(data, place)) == whole


LINES = st.lists(
    st.sampled_from(
        (
            *("", ":", ": ping", "data: {}", 'data:{"a":', "data: 1}", "event: x", "id: 7", "data"),
            *("データ: µ", "data: 質量 🛠️\u2028\x85", "error: {}", "\ufeffdata: {}", "data:  two"),
        )
    )
)


@given(LINES, st.sampled_from(["\n", "\r\n", "\r"]), st.booleans(), st.data())
def test_any_chunking_equals_the_whole(
    lines: list[str], end: str, closed: bool, data: st.DataObject
) -> None:
    """Any cuts, any line end: the frames are those of the body in one piece with LF."""
    text = "\n".join(lines) + ("\n" if closed else "")
    raw = text.replace("\n", end).encode()
    places = data.draw(st.lists(st.integers(0, len(raw)), max_size=8))
    assert frames(SseDecoder(), *cut(raw, *places)) == frames(SseDecoder(), text.encode())


@given(st.binary(max_size=300), st.lists(st.integers(0, 300), max_size=5))
def test_no_bytes_break_the_decoders(raw: bytes, places: list[int]) -> None:
    """REL-4: noise gives frames or none, the same for every cut, never another exception."""
    for kind in (SseDecoder, NdjsonDecoder):
        assert frames(kind(), *cut(raw, *(p for p in places if p <= len(raw)))) == frames(
            kind(), raw
        )


def test_the_standard_forms_are_read() -> None:
    """C22: no space, joined data lines, other fields, a byte-order mark, a blank after [DONE]."""
    _, reply = decode(stream("C22_stream.sse"), ChatDecoder("s/m"))
    assert text_of(reply) == "hello world"


@pytest.mark.parametrize("name", ["C23_stream.sse", "C23_stream_cr.sse"])
def test_crlf_and_cr_end_lines(name: str) -> None:
    """C23: nothing is lost to \\r\\n or \\r, wherever the cut falls."""
    data = stream(name)
    _, whole = decode(data, ChatDecoder("s/m"))
    assert text_of(whole).strip()
    for place in range(len(data)):
        decoder = ChatDecoder("s/m")
        for frame in frames(SseDecoder(), *cut(data, place)):
            decoder.feed(frame)
        assert decoder.finish() == whole


def test_comments_are_signs_of_life_and_nothing_else() -> None:
    """C24: comments anywhere; the text is whole."""
    deltas, reply = decode(stream("C24_stream.sse"), ChatDecoder("s/m"))
    assert text_of(reply) == "still here"
    assert deltas.count(Alive()) == 7
    only = frames(SseDecoder(), stream("C24_only_comments.sse"))
    assert len(only) == 40
    assert all(frame.comment for frame in only)


def test_a_character_split_anywhere_stays_whole() -> None:
    """C25: every byte of the event stream and of the line stream as a cut."""
    expected = json.loads(stream("C25_stream.cuts.json"))["expected_text"]
    for name, kind, decoder in (
        ("C25_stream.bin", SseDecoder, lambda: ChatDecoder("s/m")),
        ("C25_ollama.ndjson", NdjsonDecoder, OllamaDecoder),
    ):
        data = stream(name)
        for place in range(len(data)):
            reader = decoder()
            for frame in frames(kind(), *cut(data, place)):
                reader.feed(frame)
            assert text_of(reader.finish()) == expected


def test_the_last_event_needs_no_blank_line() -> None:
    """C26: what the connection closed on is read if it is whole, and only then."""
    data = stream("C26_stream.sse")
    _, reply = decode(data, ChatDecoder("s/m"))
    assert text_of(reply) == "one two three"
    assert len(frames(SseDecoder(), data[:-5])) == len(frames(SseDecoder(), data)) - 1


def test_an_error_field_is_an_error_event() -> None:
    """The field that llama.cpp once wrote errors in, with no data at all."""
    assert frames(SseDecoder(), b'error: {"code": 400}\n\n') == [Frame('{"code": 400}', "error")]


def test_line_separators_inside_json_end_no_line() -> None:
    text = '{"a": "x\u2028y\x85z"}'
    assert frames(SseDecoder(), f"data: {text}\n\n".encode()) == [Frame(text)]
    assert frames(NdjsonDecoder(), f"{text}\n\n\r\n".encode()) == [Frame(text)]


def test_a_last_line_that_is_cut_is_no_frame() -> None:
    assert frames(NdjsonDecoder(), b'{"done": false}\n{"done": tr') == [Frame('{"done": false}')]
    assert frames(NdjsonDecoder(), b'{"done": true}') == [Frame('{"done": true}')]


@pytest.mark.parametrize("kind", [SseDecoder, NdjsonDecoder])
def test_memory_is_bounded(kind: type[SseDecoder] | type[NdjsonDecoder]) -> None:
    """A line, or an event's lines, that never end are an error and not a full memory."""
    decoder = kind(limit=1000)
    for _ in range(90):
        decoder.feed(b"data: xxxxx")
    with pytest.raises(ProviderError, match="without ending a line"):
        decoder.feed(b"x" * 20)


def test_an_event_of_many_lines_is_bounded() -> None:
    decoder = SseDecoder(limit=1000)
    with pytest.raises(ProviderError, match="without ending a line"):
        decoder.feed(b"data:\n" * 1001)
