"""What each cache model reads, on prompts made by hand and on recorded sessions."""

import itertools
from collections.abc import Sequence
from dataclasses import replace

import pytest

from nodwyn_tui.domain import events as ev
from nodwyn_tui.lab.cache_models import (
    CACHE_MODELS,
    Blocks,
    Breakpoints,
    CacheModel,
    ImplicitBreakpoints,
    KvSlot,
    Read,
)
from nodwyn_tui.lab.measures import Source, measure
from nodwyn_tui.lab.policies import LabPolicy
from nodwyn_tui.lab.prompts import Piece, Prompt
from nodwyn_tui.store.log import Log
from tests.lab.record import SESSIONS

FIXED = ("tools", "system")


class Sender:
    """Makes prompts of words: a piece of 1,000 tokens for each, whose seq is its first place."""

    def __init__(self) -> None:
        self._names: dict[tuple[str, ...], int] = {}
        self._seqs = {word: number for number, word in enumerate(FIXED)}

    def prompt(
        self,
        *words: str,
        origin: str = "o",
        ctx: int = 0,
        history: int | None = None,
        tokens: int = 1_000,
    ) -> Prompt:
        """`words` behind the fixed pieces; `history` of them stand before the marker (all)."""
        contents = (*FIXED, *words)
        paths = [(origin, *contents[:count]) for count in range(len(contents) + 1)]
        pieces = [
            Piece(self._seqs.setdefault(word, len(self._seqs)), word.encode(), tokens, 1)
            for word in contents
        ]
        before = len(words) if history is None else history
        return Prompt(
            origin=origin,
            ctx=ctx,
            pieces=tuple(pieces),
            path=tuple(self._names.setdefault(path, len(self._names)) for path in paths),
            ends=tuple(tokens * count for count in range(len(contents) + 1)),
            blocks=tuple(range(len(contents) + 1)),
            history=before + len(FIXED) if before else 0,
        )


@pytest.fixture
def sender() -> Sender:
    return Sender()


def cached(model: CacheModel, *prompts: Prompt) -> list[int]:
    return [model.read(prompt).cached for prompt in prompts]


@pytest.mark.parametrize("name", CACHE_MODELS)
def test_first_prompt_is_read_anew(name: str, sender: Sender) -> None:
    assert CACHE_MODELS[name]().read(sender.prompt("a")).cached == 0


@pytest.mark.parametrize("name", CACHE_MODELS)
def test_growing_prompt_is_read_up_to_where_it_grew(name: str, sender: Sender) -> None:
    """PERF-5: on the append-only stretch nothing is lost, but what a block cuts off."""
    words = [f"w{number}" for number in range(8)]
    prompts = [sender.prompt(*words[:count]) for count in range(1, 9)]
    read = cached(CACHE_MODELS[name](), *prompts)
    for before, now in zip(prompts, read[1:], strict=False):
        assert 0 <= before.total - now < 128


@pytest.mark.parametrize("name", CACHE_MODELS)
def test_another_model_shares_nothing(name: str, sender: Sender) -> None:
    model = CACHE_MODELS[name]()
    assert cached(model, sender.prompt("a"), sender.prompt("a", origin="p")) == [0, 0]


@pytest.mark.parametrize("name", CACHE_MODELS)
def test_same_prompt_again_reads_all_but_its_last_token(name: str, sender: Sender) -> None:
    least = 3_999 // 128 * 128 if name == "blocks-128" else 3_999
    assert cached(CACHE_MODELS[name](), *[sender.prompt("a", "b")] * 2) == [0, least]


def test_slot_holds_the_last_prompt_only(sender: Sender) -> None:
    """A sub-agent's request in between throws the conversation out; blocks keep it."""
    prompts = [sender.prompt("alpha", "b"), sender.prompt("zulu"), sender.prompt("alpha", "b", "c")]
    assert cached(KvSlot(), *prompts) == [0, 2_000, 2_000]
    assert cached(Blocks(), *prompts) == [0, 1_920, 3_968]


def test_slot_and_blocks_share_part_of_a_piece(sender: Sender) -> None:
    """Token by token: a changed piece is read up to where it changed."""
    prompts = [sender.prompt("aaaaaaaa"), sender.prompt("aaaabbbb")]
    assert cached(KvSlot(), *prompts) == [0, 2_500]
    assert cached(Blocks(), *prompts) == [0, 2_432]
    assert cached(Breakpoints(), *prompts) == [0, 2_000]
    assert cached(ImplicitBreakpoints(), *prompts) == [0, 2_000]


@pytest.mark.parametrize("name", ["blocks-128", "breakpoints", "breakpoints-implicit"])
def test_hosted_caches_hold_nothing_small(name: str, sender: Sender) -> None:
    """Below 1,024 tokens."""
    small = sender.prompt("a", tokens=340)
    model = CACHE_MODELS[name]()
    assert [model.read(small), model.read(small)] == [Read(0, 0)] * 2


def test_unanswered_input_stands_behind_the_explicit_marks(sender: Sender) -> None:
    """ORD-6: it is read anew once more by the next request, unless a mark stands on it."""
    prompts = [sender.prompt("a", "b", "ask", history=2), sender.prompt("a", "b", "ask", "c")]
    assert cached(Breakpoints(), *prompts) == [0, 4_000]
    assert cached(ImplicitBreakpoints(), *prompts) == [0, 5_000]


def test_writes_reach_to_the_last_mark(sender: Sender) -> None:
    prompts = [sender.prompt("a", "b", "ask", history=2), sender.prompt("a", "b", "ask", "c")]
    model = Breakpoints()
    assert [model.read(prompt) for prompt in prompts] == [Read(0, 4_000), Read(4_000, 2_000)]
    assert ImplicitBreakpoints().read(prompts[0]) == Read(0, 5_000)
    assert Blocks().read(prompts[0]) == Read(0, 0)


def test_mark_looks_back_twenty_blocks(sender: Sender) -> None:
    """What another context wrote further back is not found."""
    words = [f"w{number}" for number in range(60)]
    for length, found in ((20, 4_000), (50, 2_000)):
        model = Breakpoints()
        model.read(sender.prompt("x", "y"))
        second = sender.prompt("x", "y", *words[:length], ctx=1)
        assert model.read(second).cached == found


def test_fourth_mark_stands_half_way_of_a_long_stretch(sender: Sender) -> None:
    """ORD-6: so that a request which lost its newest row still finds an entry."""
    words = [f"w{number}" for number in range(30)]
    model = Breakpoints()
    model.read(sender.prompt("a"))
    model.read(sender.prompt("a", *words))
    cut = sender.prompt("a", *words[:20], "other")
    assert model.read(cut).cached == 18_000


def test_only_entries_are_read_with_an_implicit_mark(sender: Sender) -> None:
    """A prompt that ends in the middle of an earlier one finds the mark before, not the middle."""
    model = ImplicitBreakpoints()
    model.read(sender.prompt("a"))
    model.read(sender.prompt("a", "b", "c", "d"))
    assert model.read(sender.prompt("a", "b", "x")).cached == 3_000


def test_a_reply_ends_no_entry_where_rows_go(sender: Sender) -> None:
    """ORD-6: the mark stands before it, and none behind the rows."""
    prompt = sender.prompt("a", "b", "rows", history=2)
    *before, reply, rows = prompt.pieces
    asked = replace(prompt, pieces=(*before, reply._replace(replied=True), rows), goes=True)
    model = ImplicitBreakpoints()
    assert model.read(asked) == Read(0, 3_000)
    assert model.read(sender.prompt("a", "b", "c")).cached == 3_000


def test_only_the_latest_eighty_entries_are_matched(sender: Sender) -> None:
    model = ImplicitBreakpoints()
    model.read(sender.prompt("first", "second"))
    for number in range(90):
        model.read(sender.prompt(f"other{number}"))
    assert model.read(sender.prompt("first", "second", "third")).cached == 2_000


@pytest.mark.parametrize(
    ("name", "model"),
    [("chat", "kv-slot"), ("resume", "kv-slot"), ("trims", "blocks-128"), ("plans", "blocks-128")],
)
def test_model_reads_what_the_server_reported(name: str, model: str) -> None:
    """ENG-30: the fakes count tokens of the real wire body, in their own order of pieces."""
    events: Sequence[ev.Event] = Log.read(SESSIONS / f"{name}.jsonl").events
    rows = list(measure(Source(name, events), LabPolicy(), [model], None))
    prompt = sum(row.prompt_tokens for row in rows)
    reported = [row.reported_cached_tokens for row in rows]
    assert abs(prompt - sum(row.reported_prompt_tokens or 0 for row in rows)) <= len(rows)
    if any(figure is not None for figure in reported):
        differences = [abs(row.cached_tokens - (row.reported_cached_tokens or 0)) for row in rows]
        assert sum(differences) < 0.03 * prompt
    for before, row in itertools.pairwise(rows):
        if not row.left_tokens:
            assert row.cached_tokens >= before.prompt_tokens - 128
