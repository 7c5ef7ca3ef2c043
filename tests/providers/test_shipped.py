"""PRV-11: figures that no listing tells, each with its source and its day."""

import json
import re
from datetime import date
from importlib import resources
from pathlib import Path

from nodwyn_tui.domain.price import Hours, Price, Rates, Tier
from nodwyn_tui.providers.catalogue import listed_models
from nodwyn_tui.providers.facts import ModelFacts
from nodwyn_tui.providers.shipped import Record, Shipped, file_text, records_in, records_of

ANTHROPIC = "https://api.anthropic.com"
OURS = resources.files("nodwyn_tui.data").joinpath("models.json").read_text("utf-8")


def test_the_file_that_comes_along_is_sound() -> None:
    """Every entry is used, and names where each of its figures is from."""
    value = json.loads(OURS)
    assert len(records_in(OURS)) == len(value["models"])
    known = set(Record.model_fields)
    for entry in value["models"]:
        assert set(entry) <= known
        assert entry["source"]
        assert date.fromisoformat(entry["date"]) <= date(2100, 1, 1)
        assert re.fullmatch(r"[a-z0-9.-]+", entry["host"])


def test_the_file_is_as_a_refresh_writes_it() -> None:
    """So that a refresh changes what it changed, and nothing else."""
    assert file_text(records_in(OURS), json.loads(OURS)["about"]) == OURS


def test_a_model_is_known_by_its_host_and_id() -> None:
    """Never by its name alone: another server's model of that name is another's."""
    shipped = Shipped()
    facts = shipped.facts(ANTHROPIC, "claude-opus-5-5")
    assert (facts.cache_min, facts.thinking) == (512, True)
    assert "litellm" in facts.cache_min_from
    assert "2026-11-29" in facts.cache_min_from
    assert facts.price is not None
    assert (facts.price.rates.input, facts.price.rates.output) == (4.0, None)
    assert shipped.facts("http://127.0.0.1:8000/v1", "claude-opus-5-5") == ModelFacts()
    assert shipped.facts(f"{ANTHROPIC}/v1", "claude-opus-5-5-20260901") == facts
    assert shipped.facts("https://api.openai.com/v1", "whatever").cache_min == 1024


def record(day: str, **figures: object) -> Record:
    return Record.model_validate(
        {"host": "api.anthropic.com", "id": "x", "source": day, "date": day, **figures}
    )


def test_the_latest_word_counts_figure_by_figure(tmp_path: Path) -> None:
    own = tmp_path / "models.json"
    tiers = [{"above": 100_000, "input": 3.0}]
    own.write_text(
        file_text(
            [
                record("2026-01-01", context=1000, max_output=10, tools=True),
                record("2026-02-01", context=2000, price={"input": 1.0, "tiers": tiers}),
                record("2026-01-15", context=3000, images=False),
            ],
            "a test's",
        )
    )
    facts = Shipped(own).facts(ANTHROPIC, "x")
    assert (facts.context, facts.context_from) == (2000, "2026-02-01 (2026-02-01)")
    assert (facts.max_output, facts.tools, facts.images) == (10, True, False)
    assert facts.abilities_from == "2026-01-15 (2026-01-15), 2026-01-01 (2026-01-01)"
    assert facts.price == Price(
        rates=Rates(input=1.0),
        tiers=(Tier(100_000, Rates(input=3.0)),),
        source="2026-02-01 (2026-02-01)",
    )


def test_a_file_of_something_else_says_nothing(tmp_path: Path) -> None:
    own = tmp_path / "models.json"
    for content in (b"", b"[]", b"{", b"\xff", b'{"models": [3, {"host": "x"}, {"id": -1}]}'):
        own.write_bytes(content)
        assert Shipped(own).facts(ANTHROPIC, "claude-opus-5-5").cache_min == 512
    assert Shipped(tmp_path).facts(ANTHROPIC, "x") == ModelFacts()


def test_a_routers_listing_tells_of_the_vendors_own_models() -> None:
    """By the names they have there; nothing of variants, and nothing of unknown vendors."""
    long = {"min_prompt_tokens": 200_000, "prompt": "0.000004"}
    night = {"utc_start": 1630, "utc_end": 30, "prompt": "0.000001"}
    pricing = {"prompt": "0.000002", "completion": "0.00001", "overrides": [long, night]}
    listing = {
        "data": [
            {"id": "anthropic/claude-sonnet-5.5", "context_length": 1_000_000, "pricing": pricing},
            {"id": "openai/gpt-6.1", "context_length": 400_000},
            {"id": "anthropic/claude-sonnet-5.5:thinking", "context_length": 1},
            {"id": "meta-llama/llama-5", "context_length": 1},
            {"id": "anthropic/", "context_length": 1},
        ]
    }
    found = records_of(listed_models(listing), "openrouter /models", date(2026, 11, 29))
    assert [(each.host, each.id, each.context) for each in found] == [
        ("api.anthropic.com", "claude-sonnet-5-5", 1_000_000),
        ("api.openai.com", "gpt-6.1", 400_000),
    ]
    assert records_in(file_text(found, "x")) == found
    assert found[0].facts().price == Price(
        rates=Rates(input=2.0, output=10.0),
        tiers=(Tier(200_000, Rates(input=4.0)),),
        off_peak=(Hours(16 * 60 + 30, 30, Rates(input=1.0)),),
        source="openrouter /models (2026-11-29)",
    )
