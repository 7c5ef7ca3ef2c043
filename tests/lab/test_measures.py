"""The figures of a session: scaled tokens, prices, what is counted and what is not."""

import pytest

from nodwyn_tui.domain import events as ev
from nodwyn_tui.domain.usage import Usage
from nodwyn_tui.errors import UsageError
from nodwyn_tui.lab.cache_models import CACHE_MODELS, Read
from nodwyn_tui.lab.measures import Prices, Source, measure
from nodwyn_tui.lab.policies import LabPolicy
from nodwyn_tui.lab.rows import Row, Sums
from nodwyn_tui.store.log import Log
from tests.builders import LogBuilder
from tests.lab.generator import session
from tests.lab.record import SESSIONS


def rows(events: object, *models: str, prices: Prices | None = None) -> list[Row]:
    chosen = models or tuple(CACHE_MODELS)
    return list(measure(Source("log", events), LabPolicy(), chosen, prices))  # type: ignore[arg-type]


def test_row_for_each_request_and_cache_model() -> None:
    found = rows(session(12))
    assert len(found) == 12 * len(CACHE_MODELS)
    assert {row.cache_model for row in found} == set(CACHE_MODELS)
    assert {row.session for row in found} == {"s"}


def test_prompt_is_the_estimate_scaled_to_what_was_reported() -> None:
    """ENG-30: so that figures of two policies are in the server's own tokens."""
    for row in rows(session(12), "kv-slot"):
        assert row.prompt_tokens == pytest.approx(row.reported_prompt_tokens, abs=3)
        assert row.prompt_tokens == pytest.approx(row.estimate * 0.75, abs=3)


def test_tokens_add_up() -> None:
    for row in rows(session(40, context=48_000)):
        assert row.uncached_tokens == row.prompt_tokens - row.cached_tokens
        assert 0 <= row.cached_tokens < row.prompt_tokens
        assert row.written_tokens <= row.uncached_tokens


def test_refused_request_is_not_counted_but_its_trim_is() -> None:
    """The server refused one request of the recording; the next one's trims include its own."""
    events = Log.read(SESSIONS / "trims.jsonl").events
    replies = [event for event in events if isinstance(event, ev.LlmResponse)]
    found = rows(events, "blocks-128")
    assert [row.seq for row in found] == [reply.req for reply in replies]
    recorded = {seq for event in events if isinstance(event, ev.LlmRequest) for seq in event.elided}
    assert {seq for row in found for seq in row.elided} == recorded


def test_price_counts_plain_cached_written_and_output() -> None:
    prices = Prices.of("2,0.5,4,10")
    million = 1_000_000
    assert prices.cost(4 * million, Read(2 * million, million), million) == 2 + 1 + 4 + 10


@pytest.mark.parametrize("words", ["", "1,2,3", "1,2,3,x", "1,2,3,-4", "1,2,3,nan", "1,2,3,inf"])
def test_other_words_are_no_prices(words: str) -> None:
    with pytest.raises(UsageError, match="--price takes four prices"):
        Prices.of(words)


def test_cost_is_unknown_without_prices() -> None:
    """Never zero."""
    assert {row.cost_usd for row in rows(session(3))} == {None}
    sums = Sums("p", "m")
    for row in rows(session(3)):
        sums.take(row)
    assert sums.cost_usd is None


def test_output_is_estimated_where_no_reply_told() -> None:
    built = LogBuilder()
    built.user()
    request, _ = built.request()
    built.reply("a longer answer " * 30)
    (row,) = rows(built.events, "kv-slot")
    assert (row.seq, row.reported_prompt_tokens) == (request.seq, None)
    assert 150 < row.output_tokens < 200
    told = LogBuilder()
    told.user()
    told.request()
    told.add(ev.LlmResponse(req=3, parts=(), finish="stop", usage=Usage(output_tokens=7)))
    (row,) = rows(told.events, "kv-slot")
    assert row.output_tokens == 7


def test_sums_are_those_of_the_rows() -> None:
    found = rows(session(30, context=48_000), "kv-slot", prices=Prices.of("1,1,1,1"))
    sums, twice = Sums("p", "kv-slot"), Sums("p", "kv-slot")
    for row in found:
        sums.take(row)
    twice.merge(sums)
    twice.merge(sums)
    assert (sums.requests, sums.trims) == (30, sum(bool(row.elided) for row in found))
    assert sums.prompt_tokens == sum(row.prompt_tokens for row in found)
    assert sums.cost_usd == pytest.approx((sums.prompt_tokens + sums.output_tokens) / 1e6)
    assert twice.uncached_tokens == 2 * sums.uncached_tokens
    assert twice.left_tokens == 2 * sum(row.left_tokens for row in found) > 0
    assert twice.cached_share == sums.cached_share
    assert Sums("p", "m").cached_share is None
