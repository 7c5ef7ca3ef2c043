"""What must hold of the requests of one session, in order, as their units say (ORD-1 to ORD-9)."""

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby, pairwise

from nodwyn_tui.providers.rows import NO_ANSWER
from nodwyn_tui.window.order import KINDS
from tests.agent.order_sessions import RUN, SAID, STEER, STEERED, Now, Way, thinks
from tests.agent.wire_units import Unit, bare
from tests.fakes.prefix_cache import shared_bytes

Request = Sequence[Unit]

REPLY = {"opaque", "answer", "call"}
AFTER_HISTORY = ("plan", "note"), ("fresh",), ("said",)
"""What may follow the last reply and its results, in this order."""


def rows_are_current(asked: Sequence[Request], shows: Sequence[Now], placed: str) -> None:
    """ORD-5, ORD-8, ORD-9: each kind's last row says what is so, or was as the run began; rows that
    stay come only where a kind says something else than before, others all and in their order.
    """
    before: dict[str, tuple[str, ...]] = {}
    for number, (request, now) in enumerate(zip(asked, shows, strict=True)):
        starts = number % RUN == 0
        words = before if placed == "run_start" and not starts else now.words()
        rows = [unit for unit in request if unit.kind == "fresh"]
        latest = {row.label: row.text for row in rows}
        for kind in KINDS:
            assert (kind in latest) == (kind in words), (number, kind)
            for word in words.get(kind, ()):
                assert word in latest[kind], (number, latest[kind])
        new = [kind for kind in KINDS if kind in words and words[kind] != before.get(kind)]
        if placed == "each_request":
            assert [row.label for row in rows] == [kind for kind in KINDS if kind in words], number
        else:
            assert [unit.label for unit in _behind(request) if unit.kind == "fresh"] == new, number
        before = words


def rows_stand_in_their_place(asked: Sequence[Request]) -> None:
    """ORD-1, ORD-2: behind all completed history with its plan rows, before what is not answered
    yet; never in a batch, nor between reasoning and what it came before.
    """
    for number, request in enumerate(asked):
        opened: list[str] = []
        for unit, after in pairwise([*request, Unit("said", "", 0, 0)]):
            if unit.kind == "call":
                opened.append(unit.id)
            elif unit.kind == "result":
                assert opened.pop(0) == unit.id, number
            assert not opened or after.kind in {"call", "result"}, number
            assert unit.kind != "opaque" or after.kind in REPLY, number
        behind = _behind(request)
        kinds = [kind for kind, _ in groupby(behind, _class)]
        assert kinds == sorted(kinds), (number, [unit.kind for unit in behind])
        said = [unit.text for unit in behind if unit.kind == "said"]
        if number % RUN == 0:
            assert SAID in said.pop()
        elif number == STEER + 1:
            assert said.pop() == STEERED
        assert said == [], number


def reasoning_goes_back(asked: Sequence[Request], way: Way) -> None:
    """ORD-7: every reply's, the latest one's, or none, each at the head of its own reply."""
    for number, request in enumerate(asked):
        replies = [
            [unit.kind for unit in group]
            for is_reply, group in groupby(request, lambda unit: unit.kind in REPLY)
            if is_reply
        ]
        if not way.opaque:
            assert not any("opaque" in kinds for kinds in replies), number
            continue
        found = [kinds.count("opaque") for kinds in replies]
        kept = [way.keep != "latest" or at == number - 1 for at in range(number)]
        assert found == [int(thinks(at) and kept[at]) for at in range(number)], number
        assert all(kinds[0] == "opaque" for kinds in replies if "opaque" in kinds), number


def history(request: Request, way: Way, placed: str) -> int:
    """How many units stand before the history marker: what the next request begins with."""
    ends = [len(request)]
    if placed == "each_request":
        ends += [at for at, unit in enumerate(request) if unit.kind == "fresh"]
        # What a template that insists on turns has between results and rows goes with the rows.
        ends += [at - 1 for at in ends[1:2] if request[at - 1].text == NO_ANSWER]
    if way.keep == "latest":
        ends += [at for at, unit in enumerate(request) if unit.kind == "opaque"]
    return min(ends)


def the_prefix_grows(
    contents: Sequence[bytes], asked: Sequence[Request], ends: Sequence[int], way: Way
) -> None:
    """ORD-8: each request begins with the bytes of the former one up to its history marker, which
    every completed exchange moves on. Reasoning that leaves holds it back by that exchange.
    """
    places = [max((u.end for u in r[:end]), default=0) for r, end in zip(asked, ends, strict=True)]
    bodies = [bare(content) for content in contents]
    for number, (one, other) in enumerate(pairwise(bodies)):
        assert shared_bytes(one, other) >= places[number], number
        same = [[replace(u, marked=False) for u in r[: ends[number]]] for r in asked[number:][:2]]
        assert same[0] == same[1], number
    grown = [after - before for before, after in pairwise(places)]
    assert all(more > 0 or (more == 0 and way.keep == "latest") for more in grown), grown


def marks_stand_at_markers(asked: Sequence[Request], ends: Sequence[int], way: Way) -> None:
    """ORD-6: at the end of what never changes, at the previous history marker, at the current one,
    on the last unit that can bear it; never in a batch.
    """
    former = 0
    for number, (request, end) in enumerate(zip(asked, ends, strict=True)):
        # Where nothing goes, the server's own mark stands behind what is not answered yet.
        own = len(_behind(request)) if way.implicit and end == len(request) else 0
        current = _bearer(request, end - own, way)
        if way.keep == "latest":
            # Whether the reply before the latest had any reasoning, the request does not tell.
            former = min(former, _bearer(request, _reply_before_latest(request), way))
        marked = [at for at, unit in enumerate(request) if unit.marked]
        expected = sorted({0, former, current})
        assert marked == expected, (number, marked, expected, [u.kind for u in request])
        for at in marked[1:]:
            assert request[at].kind != "call" or request[at + 1].kind != "call", number
            assert request[at + 1 : at + 2] == [] or request[at + 1].kind != "result", number
        former = current


def more_is_read_each_time(reads: Sequence[tuple[int, int]], way: Way) -> None:
    """ORD-6: what the marks wrote is what the next request finds. A reply that bears no mark is
    read with what follows it.
    """
    cached = [tokens for _, tokens in reads]
    assert cached[0] == 0
    waits = way.keep == "latest" or "answer" not in way.bears
    grown = [after - before for before, after in pairwise(cached)]
    assert all(more > 0 or (more == 0 and waits) for more in grown), cached
    assert sum(more == 0 for more in grown) <= len(reads) // RUN, cached


def nothing_is_carried(contents: Sequence[bytes], shows: Sequence[Now]) -> None:
    """ORD-5: what rows that go said at another moment stands in no request."""
    said = {word for now in shows for words in now.words().values() for word in words}
    for number, (content, now) in enumerate(zip(contents, shows, strict=True)):
        current = {word for words in now.words().values() for word in words}
        for word in said - current:
            assert json.dumps(word)[1:-1].encode() not in content, (number, word)


def _behind(request: Request) -> Request:
    """What follows the last reply and its results."""
    settled = [at for at, u in enumerate(request) if u.kind in {*REPLY, "result", "system"}]
    return request[max(settled, default=-1) + 1 :]


def _bearer(request: Request, end: int, way: Way) -> int:
    """The last unit of the first `end` that can bear a mark."""
    return next((at for at in range(end - 1, -1, -1) if request[at].kind in way.bears), 0)


def _reply_before_latest(request: Request) -> int:
    """Where the last reply but one begins, 0 where there is none."""
    is_reply = [unit.kind in REPLY for unit in request]
    begins = [at for at in range(1, len(request)) if is_reply[at] and not is_reply[at - 1]]
    return begins[-2] if len(begins) > 1 else 0


def _class(unit: Unit) -> int:
    return next(n for n, kinds in enumerate(AFTER_HISTORY) if unit.kind in kinds)
