"""PRV-11: what listings say about models, and where each figure stands."""

from typing import Any

import pytest

from nodwyn_tui.domain.price import Hours, Price, Rates, Tier
from nodwyn_tui.errors import ProviderError
from nodwyn_tui.providers.catalogue import (
    ModelListing,
    listed_facts,
    listed_models,
    ollama_facts,
    ollama_loaded,
    ollama_models,
    with_props,
)
from nodwyn_tui.providers.facts import ModelFacts
from tests.fakes.anthropic_server import AnthropicServer
from tests.fakes.chat_server import ChatServer
from tests.fakes.ollama_server import OllamaServer
from tests.fakes.script import say
from tests.providers.samples import model, parameters, provider, request, user

OPENROUTER = {
    "id": "anthropic/claude",
    "name": "Anthropic: Claude",
    "context_length": 1_000_000,
    "architecture": {"input_modalities": ["text", "image"]},
    "pricing": {
        "prompt": "0.000002",
        "completion": "0.00001",
        "input_cache_read": "0.0000002",
        "input_cache_write": "0.0000025",
        "input_cache_write_1h": "0.000004",
    },
    "top_provider": {"context_length": 200_000, "max_completion_tokens": 64_000},
    "supported_parameters": ["tools", "reasoning", "max_tokens"],
}


def test_openrouter() -> None:
    assert listed_facts(OPENROUTER) == ModelFacts(
        context=200_000,
        context_from="/models top_provider.context_length",
        max_output=64_000,
        max_output_from="/models top_provider.max_completion_tokens",
        price=Price(
            rates=Rates(input=2.0, cached=0.2, write=2.5, write_long=4.0, output=10.0),
            source="/models pricing",
        ),
        tools=True,
        thinking=True,
        images=True,
        abilities_from="/models supported_parameters",
    )


@pytest.mark.parametrize(
    ("entry", "context", "place"),
    [
        ({"max_model_len": 40_960}, 40_960, "/models max_model_len"),
        (
            {"context_length": 8192, "top_provider": {"context_length": None}},
            8192,
            "/models context_length",
        ),
        ({"meta": {"n_ctx": 16_384, "n_ctx_train": 32_768}}, 16_384, "/models meta.n_ctx"),
        ({"meta": {"n_ctx_train": 32_768}}, 32_768, "/models meta.n_ctx_train"),
        ({"context_window": 131_072}, 131_072, "/models context_window"),
        ({"context_length": "8192"}, None, ""),
        ({"context_length": 0, "meta": None}, None, ""),
        ({"context_length": True}, None, ""),
        ({}, None, ""),
    ],
)
def test_contexts_and_their_sources(entry: dict[str, Any], context: int | None, place: str) -> None:
    facts = listed_facts(entry)
    assert (facts.context, facts.context_from) == (context, place)


@pytest.mark.parametrize(
    "pricing",
    [None, {}, {"prompt": "-1", "completion": "free"}, "x", {"prompt": []}, {"prompt": "1e400"}],
)
def test_prices_that_say_nothing(pricing: Any) -> None:
    """Missing stays missing: an unknown price is not a free one."""
    facts = listed_facts({"pricing": pricing})
    assert (facts.price, facts.price_from) == (None, "")


@pytest.mark.parametrize(
    ("override", "tiers", "hours"),
    [
        ({"min_prompt_tokens": 200_000}, (Tier(200_000, Rates(input=4.0)),), ()),
        ({"min_prompt_tokens": 272_000.0}, (Tier(272_000, Rates(input=4.0)),), ()),
        ({"utc_start": 1630, "utc_end": 30}, (), (Hours(990, 30, Rates(input=4.0)),)),
        ({"utc_start": 0, "utc_end": 2400}, (), (Hours(0, 1440, Rates(input=4.0)),)),
        ({"min_prompt_tokens": 9, "utc_start": 0, "utc_end": 100}, (), ()),
        ({"utc_start": 0, "utc_end": 100, "utc_days": ["monday"]}, (), ()),
        ({"utc_days": ["monday"]}, (), ()),
        ({"utc_start": 1675, "utc_end": 30}, (), ()),
        ({"utc_start": 100}, (), ()),
        ({"min_prompt_tokens": "many"}, (), ()),
        ({"min_prompt_tokens": True}, (), ()),
        ({}, (), ()),
    ],
)
def test_prices_of_long_prompts_and_of_hours(
    override: dict[str, Any], tiers: tuple[Tier, ...], hours: tuple[Hours, ...]
) -> None:
    """PRV-10, PRV-11: an entry holds where all its conditions do; what no table has is left out."""
    entries = [None, "x", {**override}, {**override, "prompt": "0.000004"}]
    price = listed_facts({"pricing": {"prompt": "0.000002", "overrides": entries}}).price
    assert price == Price(
        rates=Rates(input=2.0), tiers=tiers, off_peak=hours, source="/models pricing"
    )


def test_free_is_a_price() -> None:
    price = listed_facts({"pricing": {"prompt": "0"}}).price
    assert price is not None
    assert price.rates == Rates(input=0.0)


@pytest.mark.parametrize(
    "listing", [None, [], {}, {"data": None}, {"data": [None, {"id": 3}, {}]}, "x"]
)
def test_a_listing_of_nothing(listing: Any) -> None:
    assert listed_models(listing) == []
    assert ollama_models(listing) == []


def test_llamacpps_props_hold_the_context_that_a_request_has() -> None:
    props = {
        "default_generation_settings": {"n_ctx": 4096},
        "modalities": {"vision": False},
        "chat_template_caps": {"supports_tools": True},
    }
    facts = with_props(ModelFacts(context=16_384, context_from="/models meta.n_ctx"), props)
    assert (facts.context, facts.context_from) == (4096, "/props default_generation_settings.n_ctx")
    assert (facts.tools, facts.images, facts.abilities_from) == (True, False, "/props")
    assert with_props(facts, None) == facts


SHOW = {
    "capabilities": ["completion", "tools", "thinking"],
    "model_info": {"general.architecture": "qwen3moe", "qwen3moe.context_length": 262_144},
    "parameters": "num_ctx   8192\nstop  x",
}


def test_ollamas_show() -> None:
    """ENG-18: the model's own size; how much of it is asked for is the session's matter."""
    assert ollama_facts(SHOW) == ModelFacts(
        context=262_144,
        context_from="/api/show qwen3moe.context_length",
        tools=True,
        thinking=True,
        images=False,
        abilities_from="/api/show capabilities",
    )
    assert ollama_facts({}) == ModelFacts()
    assert ollama_facts(None) == ModelFacts()


def test_ollamas_tags_and_ps() -> None:
    tags = {
        "models": [
            {"name": "a:latest", "model": "a:latest", "capabilities": ["vision"]},
            {"name": "b"},
        ]
    }
    assert ollama_models(tags) == [
        ModelListing(
            id="a:latest",
            name="a:latest",
            facts=ModelFacts(
                tools=False, thinking=False, images=True, abilities_from="/api/tags capabilities"
            ),
        ),
        ModelListing(id="b", name="b"),
    ]
    loaded = {"models": [{"name": "a:latest", "model": "a:latest", "context_length": 8192}]}
    assert ollama_loaded(loaded, "a:latest") == 8192
    assert ollama_loaded(loaded, "a") == 8192
    assert ollama_loaded(loaded, "a:8b") is None
    assert ollama_loaded(loaded, "b") is None


async def test_over_the_wire_from_chat_completions() -> None:
    with ChatServer(entry={"owned_by": "llamacpp"}, props=True, context=4096) as server:
        us = provider(server.base_url)
        facts = await us.catalogue.facts("test-model")
        assert await us.catalogue.facts("another") == ModelFacts()
        await us.aclose()
    assert (facts.context, facts.context_from) == (4096, "/props default_generation_settings.n_ctx")
    assert {r.path for r in server.requests} == {"/v1/models", "/props"}


async def test_a_server_without_props_keeps_its_listing() -> None:
    with ChatServer(entry={"owned_by": "llamacpp", "meta": {"n_ctx_train": 2048}}) as server:
        us = provider(server.base_url)
        facts = await us.catalogue.facts("test-model")
        await us.aclose()
    assert facts.context == 2048


async def test_over_the_wire_from_ollama() -> None:
    with OllamaServer([say("hi")], context=40_960) as server:
        us = provider(server.base_url, "ollama")
        assert [found.id for found in await us.catalogue.models()] == ["test-model"]
        assert (await us.catalogue.facts("test-model")).context == 40_960
        assert await us.catalogue.loaded_context("test-model") is None
        async with us.stream(request(user("hi")), model("ollama"), parameters()) as exchange:
            async for _ in exchange:
                pass
        assert await us.catalogue.loaded_context("test-model") == 8192
        with pytest.raises(ProviderError) as caught:
            await us.catalogue.facts("another")
        await us.aclose()
    assert caught.value.kind == "not_found"


CLAUDE = {
    "type": "model",
    "id": "claude-x",
    "display_name": "Claude X",
    "max_input_tokens": 1_000_000,
    "max_tokens": 128_000,
    "capabilities": {
        "image_input": {"supported": True},
        "thinking": {"supported": False, "types": {}},
    },
}


def test_anthropics_listing() -> None:
    expected = ModelFacts(
        context=1_000_000,
        context_from="/models max_input_tokens",
        max_output=128_000,
        max_output_from="/models max_tokens",
        thinking=False,
        images=True,
        abilities_from="/models capabilities",
    )
    assert listed_models({"data": [CLAUDE]}) == [
        ModelListing(id="claude-x", name="Claude X", facts=expected)
    ]
    assert listed_facts({**CLAUDE, "capabilities": None}).images is None


async def test_anthropics_catalogue_asks_for_the_model_itself() -> None:
    """PRV-11, PRV-16: with the key and the version; a base URL with /v1 is the same place."""
    key = "k" * 20
    with AnthropicServer(key=key, auth="x-api-key") as server:
        for base in (server.base_url, f"{server.base_url}/v1"):
            there = provider(base, "anthropic", secret=key, auth="x-api-key")
            facts = await there.catalogue.facts("test-model")
            assert (facts.context, facts.max_output, facts.images) == (200_000, 64_000, True)
            assert [each.name for each in await there.catalogue.models()] == ["Test Model"]
            assert await there.catalogue.facts("a/model we: do not have") == ModelFacts()
            await there.aclose()
        versions = {request.headers["anthropic-version"] for request in server.requests}
        paths = {request.path for request in server.requests}
    assert versions == {"2026-10-21"}
    assert "/v1/models/a%2Fmodel%20we%3A%20do%20not%20have" in paths


async def test_a_server_that_only_speaks_anthropics_protocol_has_a_listing() -> None:
    """llama.cpp: no address for one model; what it says of itself stands beside."""
    entry = {"owned_by": "llamacpp", "meta": {"n_ctx_train": 32_768}}
    with ChatServer(entry=entry, props=True, context=4096) as server:
        there = provider(server.base_url, "anthropic")
        facts = await there.catalogue.facts("test-model")
        await there.aclose()
    assert (facts.context, facts.context_from) == (4096, "/props default_generation_settings.n_ctx")


async def test_a_key_that_is_refused_is_said_at_once() -> None:
    with AnthropicServer(key="k" * 20) as server:
        there = provider(server.base_url, "anthropic")
        with pytest.raises(ProviderError, match="authentication"):
            await there.catalogue.facts("test-model")
        await there.aclose()
    assert len(server.requests) == 1
