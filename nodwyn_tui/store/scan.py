"""The bytes of a log to its whole events, and what in them is none (ENG-5). Pure: mends nothing."""

import itertools
import json
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from nodwyn_tui.domain.events import Event, SessionRecovered, WindowReset
from nodwyn_tui.store.lines import NotAnEvent, decode

MAX_GAP = 1_000_000
"""A line that claims to come this many events later is a stranger's."""
MAX_BATCH = 4096
"""Nothing this program appends at once is larger: a larger figure is damage in a figure."""

_BEGINNING = b'{"seq":'
_HEAD = re.compile(
    rb'\{"seq":(\d{1,16}),"at":"[^"]{0,40}","type":"([a-z._]{1,40})","ctx":\d+,"run":\d+'
    rb'(?:,"batch":(\d{1,6}))?'
)
_SEQ = re.compile(rb'\{"seq":(\d{1,16}),')
_VAIN_TRIES = 64
"""How many beginnings within one broken line are tried in vain before it is given up."""
_OUT_OF_ORDER = "out of order, or a second time"
_HALF_BATCH = "part of a batch that is not whole"


@dataclass(frozen=True, slots=True)
class Chunk:
    """Bytes of the log that are of no use: where they stood, and why."""

    offset: int
    data: bytes
    why: str


@dataclass(frozen=True, slots=True)
class Damage:
    """What is wrong with a log: the bytes in the way, and the seqs that are lost with them and
    that no `session.recovered` has named yet. False if all is well.
    """

    chunks: tuple[Chunk, ...] = ()
    missing: tuple[int, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.chunks or self.missing)

    @property
    def bytes(self) -> int:
        """How many bytes are to be set aside."""
        return sum(len(chunk.data) for chunk in self.chunks)


@dataclass(frozen=True, slots=True)
class Scan:
    """A log read whole: its events and the place of each in `data`, what is wrong, and the highest
    seq that was ever used.
    """

    data: bytes
    events: tuple[Event, ...]
    spans: tuple[tuple[int, int], ...]
    damage: Damage
    last_seq: int

    @property
    def ended(self) -> bool:
        """Whether the last line has its line end."""
        return not self.data or self.data.endswith(b"\n")

    def lines(self) -> Iterator[bytes]:
        """The lines of the events as they came, each with its line end."""
        for start, end in self.spans:
            line = self.data[start:end]
            yield line if line.endswith(b"\n") else line + b"\n"


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of the log: an event, or bytes that are of no use for the reason in `why`."""

    start: int
    end: int
    event: Event | None = None
    why: str = ""


def scan(data: bytes) -> Scan:
    """Reads a whole log. Never fails, whatever the bytes."""
    pieces = list(_pieces(data))
    for judge in (_out_of_order, _half_batches):
        for index, why in judge(data, pieces).items():
            pieces[index] = replace(pieces[index], event=None, why=why)
    kept = _kept(pieces)
    events = tuple(event for _, event in kept)
    last_seq = _last_used(data, pieces)
    damage = Damage(
        tuple(Chunk(p.start, data[p.start : p.end], p.why) for p in pieces if p.event is None),
        tuple(_missing(events, last_seq)),
    )
    spans = tuple((pieces[i].start, pieces[i].end) for i, _ in kept)
    return Scan(data, events, spans, damage, last_seq)


def pieces_of(line: bytes, offset: int) -> Iterator[Piece]:
    """What a line, which stands at `offset`, holds: an event as a rule; nothing if it is blank."""
    try:
        yield Piece(offset, offset + len(line), decode(line))
    except NotAnEvent:
        if line.strip():
            yield from _salvaged(line, offset)


def batch_size(event: Event) -> int:
    """How many events, with this one, stand or fall together (ENG-3). A rollover's parts mean
    something each.
    """
    rollover = isinstance(event, WindowReset) and event.kind == "rollover"
    size = event.batch or 1
    return size if not rollover and 1 < size <= MAX_BATCH else 1


def _pieces(data: bytes) -> Iterator[Piece]:
    start = 0
    while start < len(data):
        line_end = data.find(b"\n", start)
        end = line_end + 1 if line_end >= 0 else len(data)
        yield from pieces_of(data[start:end], start)
        start = end


def _salvaged(line: bytes, offset: int) -> Iterator[Piece]:
    """A broken line in pieces: an event stands whole in it where another was cut before it, or
    where the line end after it is gone.
    """
    text = line.decode("latin-1")  # a character a byte, and the same to JSON's eyes
    done, tries = 0, _VAIN_TRIES
    place = line.find(_BEGINNING)
    while place >= 0 and tries:
        try:
            _, end = json.JSONDecoder().raw_decode(text, place)
            event = decode(line[place:end])
        except (ValueError, RecursionError):
            tries -= 1
            place = line.find(_BEGINNING, place + 1)
            continue
        if place > done:
            yield _broken(line, done, place, offset)
        yield Piece(offset + place, offset + end, event)
        done = end
        place = line.find(_BEGINNING, done)
    if line[done:].strip():
        yield _broken(line, done, len(line), offset)


def _broken(line: bytes, start: int, end: int, offset: int) -> Piece:
    text = line[start:end]
    why = "a block of NUL bytes" if b"\0" in text else "no whole event"
    return Piece(offset + start, offset + end, None, why)


def _kept(pieces: Sequence[Piece]) -> list[tuple[int, Event]]:
    return [(i, piece.event) for i, piece in enumerate(pieces) if piece.event is not None]


def _out_of_order(_data: bytes, pieces: Sequence[Piece]) -> dict[int, str]:
    """Of lines whose seqs do not rise, the longest rising run is the log's own."""
    kept = _kept(pieces)
    seqs = [event.seq for _, event in kept]
    rising = _longest_rising(seqs)
    own, last = set(), 0
    for place in rising:
        if seqs[place] - last <= MAX_GAP:
            own.add(place)
            last = seqs[place]
    return {i: _OUT_OF_ORDER for place, (i, _) in enumerate(kept) if place not in own}


def _longest_rising(seqs: Sequence[int]) -> Sequence[int]:
    """The places of the longest strictly rising run; of equal ones the first."""
    if all(first < second for first, second in pairwise(seqs)):
        return range(len(seqs))
    ends: list[int] = []  # the smallest seq that a run of each length can end with
    places: list[int] = []  # where that seq stands
    before = [-1] * len(seqs)
    for place, seq in enumerate(seqs):
        length = bisect_left(ends, seq)
        if length < len(ends) and ends[length] == seq:
            continue
        before[place] = places[length - 1] if length else -1
        ends[length : length + 1] = [seq]
        places[length : length + 1] = [place]
    run, place = [], places[-1] if places else -1
    while place >= 0:
        run.append(place)
        place = before[place]
    return run[::-1]


def _half_batches(data: bytes, pieces: Sequence[Piece]) -> dict[int, str]:
    """The events of batches that are not whole (ENG-3)."""
    kept = _kept(pieces)
    seqs = {event.seq for _, event in kept}
    half: set[int] = set()
    for place, (_, event) in enumerate(kept):
        size = batch_size(event)
        end = place + size - 1
        if size > 1 and (end >= len(kept) or kept[end][1].seq != event.seq + size - 1):
            half |= set(range(event.seq, event.seq + size))
    for piece in pieces:
        if piece.event is None and piece.why != _OUT_OF_ORDER:
            seq, size, kind = head_of(data[piece.start : piece.end])
            if seq and seq not in seqs and kind != WindowReset.type:
                half |= set(range(seq, seq + size))
    return {i: _HALF_BATCH for i, event in kept if event.seq in half}


def head_of(line: bytes) -> tuple[int, int, str]:
    """What the beginning of a cut line still tells: its seq (0: nothing), its batch, its type."""
    if found := _HEAD.match(line):
        size = int(found[3] or 1)
        return int(found[1]), size if size <= MAX_BATCH else 1, found[2].decode()
    found = _SEQ.match(line)
    return int(found[1]) if found else 0, 1, ""


def _last_used(data: bytes, pieces: Sequence[Piece]) -> int:
    """The highest seq that was given away, as far as can be told. Behind the last event, a cut line
    may still tell its seq; each stretch that tells nothing held one event at least.
    """
    last = max((piece.event.seq for piece in pieces if piece.event is not None), default=0)
    here = last
    tail = itertools.takewhile(lambda piece: piece.event is None, reversed(pieces))
    for piece in reversed([piece for piece in tail if piece.why != _OUT_OF_ORDER]):
        seq, size, _ = head_of(data[piece.start : piece.end])
        if not seq or seq > here + MAX_GAP:
            seq, size = here + 1, 1
        if seq > here:
            here = seq
            last = max(last, seq + size - 1)
    return last


def _missing(events: Iterable[Event], last_seq: int) -> Iterator[int]:
    """The seqs up to `last_seq` that no event has, and that no recovery has named."""
    named: set[int] = set()
    gaps: list[range] = []
    last = 0
    for event in events:
        if event.seq > last + 1:
            gaps.append(range(last + 1, event.seq))
        last = event.seq
        if isinstance(event, SessionRecovered):
            named |= set(event.missing)
    gaps.append(range(last + 1, last_seq + 1))
    return (seq for gap in gaps for seq in gap if seq not in named)
