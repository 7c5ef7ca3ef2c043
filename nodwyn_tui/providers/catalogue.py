"""What a server says about its models: sizes, prices, abilities, and where it says so (PRV-11).

Read leniently: a figure that is not of its type is missing, and spoils no other.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypedDict
from urllib.parse import quote

from nodwyn_tui.domain.request import Json
from nodwyn_tui.errors import ProviderError
from nodwyn_tui.providers.client import Client
from nodwyn_tui.providers.facts import ModelFacts
from nodwyn_tui.providers.listed_price import listed_price
from nodwyn_tui.providers.token_counts import MOST

PROPS = "/props"
"""Where llama.cpp's own word on abilities is from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelListing:
    """One model that a server offers."""

    id: str
    name: str
    facts: ModelFacts = field(default_factory=ModelFacts)


class Catalogue:
    """Asks a server for its listings; never sends the session's key. Raises `ProviderError`."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._is_ollama = client.endpoint.provider == "ollama"
        self._is_anthropic = client.endpoint.provider == "anthropic"

    async def models(self) -> list[ModelListing]:
        """The models, in the server's order."""
        if self._is_ollama:
            return ollama_models(await self._client.get_json("/api/tags"))
        return listed_models(await self._listing())

    async def facts(self, model: str) -> ModelFacts:
        """What the server says about one model."""
        if self._is_ollama:
            return ollama_facts(await self._client.post_json("/api/show", {"model": model}))
        if self._is_anthropic and (entry := await self._entry(model)):
            return listed_facts(entry)
        listing = await self._listing()
        facts = next((found.facts for found in listed_models(listing) if found.id == model), None)
        if facts is None:
            return ModelFacts()
        return with_props(facts, await self._props()) if _is_llamacpp(listing) else facts

    async def loaded_context(self, model: str) -> int | None:
        """The context that Ollama holds the model with right now, `None` if it is not loaded."""
        return ollama_loaded(await self._client.get_json("/api/ps"), model)

    async def _listing(self) -> Json:
        # Anthropic's comes by pages of twenty unless more are asked for.
        path = "/v1/models?limit=1000" if self._is_anthropic else "/models"
        return await self._client.get_json(path)

    async def _entry(self, model: str) -> Mapping[str, Json] | None:
        """What Anthropic's API says of one model; `None` on servers that only speak its protocol,
        and have no such address.
        """
        try:
            entry = await self._client.get_json(f"/v1/models/{quote(model, safe='')}")
        except ProviderError as error:
            if error.kind in {"authentication", "permission", "transport", "timeout"}:
                raise
            return None
        return entry if isinstance(entry, Mapping) and _text(entry, "id") else None

    async def _props(self) -> Json:
        try:
            return await self._client.get_json("/props", from_root=True)
        except ProviderError:
            return None  # An extra of some servers; what the listing said stands.


def ollama_models(tags: Json) -> list[ModelListing]:
    """The models of `/api/tags`."""
    found = []
    for entry in _items(tags, "models"):
        if model := _text(entry, "model") or _text(entry, "name"):
            context = _count(entry, "details", "context_length")
            facts = ModelFacts(
                context=context,
                context_from="/api/tags details.context_length" if context else "",
                **_abilities(entry.get("capabilities"), "/api/tags capabilities"),
            )
            name = _text(entry, "name") or model
            found.append(ModelListing(id=model, name=name, facts=facts))
    return found


def ollama_facts(show: Json) -> ModelFacts:
    """The model's own context and abilities, from `/api/show`."""
    if not isinstance(show, Mapping):
        return ModelFacts()
    family = _at(show, "model_info", "general.architecture")
    field = f"{family}.context_length"
    context = _count(show, "model_info", field)
    return ModelFacts(
        context=context,
        context_from=f"/api/show {field}" if context else "",
        **_abilities(show.get("capabilities"), "/api/show capabilities"),
    )


def ollama_loaded(ps: Json, model: str) -> int | None:
    """A loaded model's context from `/api/ps`, which spells the usual tag out."""
    names = {model} if ":" in model.rpartition("/")[2] else {model, f"{model}:latest"}
    for entry in _items(ps, "models"):
        if names & {_text(entry, "model"), _text(entry, "name")}:
            return _count(entry, "context_length")
    return None


def listed_models(listing: Json) -> list[ModelListing]:
    """The models of a server's `/models`: OpenRouter's, vLLM's, llama.cpp's, Anthropic's."""
    return [
        ModelListing(
            id=model,
            name=_text(entry, "name") or _text(entry, "display_name") or model,
            facts=listed_facts(entry),
        )
        for entry in _items(listing, "data")
        if (model := _text(entry, "id"))
    ]


_CONTEXTS = (
    ("top_provider", "context_length"),
    ("context_length",),
    ("max_model_len",),
    ("context_window",),
    ("max_input_tokens",),
    ("meta", "n_ctx"),
    ("meta", "n_ctx_train"),
)
_REPLIES = (
    ("top_provider", "max_completion_tokens"),
    ("max_completion_tokens",),
    ("max_tokens",),
)


def listed_facts(entry: Mapping[str, Json]) -> ModelFacts:
    """The facts that one entry of `/models` holds."""
    context, context_from = _first(entry, _CONTEXTS)
    reply, reply_from = _first(entry, _REPLIES)
    listed = isinstance(entry.get("supported_parameters"), list)
    supported: Sequence[Json] = entry["supported_parameters"] if listed else ()
    inputs = _at(entry, "architecture", "input_modalities")
    facts = ModelFacts(
        context=context,
        context_from=context_from,
        max_output=reply,
        max_output_from=reply_from,
        price=listed_price(entry.get("pricing")),
        tools="tools" in supported if listed else None,
        thinking="reasoning" in supported if listed else _supports(entry, "thinking"),
        images="image" in inputs if isinstance(inputs, list) else _supports(entry, "image_input"),
    )
    where = "supported_parameters" if listed else "architecture" if inputs else "capabilities"
    return _sourced(facts, f"/models {where}")


def _sourced(facts: ModelFacts, source: str) -> ModelFacts:
    """With the source of its abilities, if it names any."""
    named = (facts.tools, facts.thinking, facts.images) != (None, None, None)
    return replace(facts, abilities_from=source if named else "")


def _supports(entry: Mapping[str, Json], capability: str) -> bool | None:
    """What Anthropic's listing says of a capability."""
    found = _at(entry, "capabilities", capability, "supported")
    return found if isinstance(found, bool) else None


def with_props(facts: ModelFacts, props: Json) -> ModelFacts:
    """The facts with what llama.cpp's `/props` says: the context that a request really has."""
    path = ("default_generation_settings", "n_ctx")
    if context := _count(props, *path):
        facts = replace(facts, context=context, context_from=f"/props {'.'.join(path)}")
    tools = _at(props, "chat_template_caps", "supports_tools")
    images = _at(props, "modalities", "vision")
    return _sourced(
        ModelFacts(
            tools=tools if isinstance(tools, bool) else None,
            images=images if isinstance(images, bool) else None,
        ),
        PROPS,
    ).over(facts)


def _is_llamacpp(listing: Json) -> bool:
    return any(entry.get("owned_by") == "llamacpp" for entry in _items(listing, "data"))


class _Abilities(TypedDict):
    tools: bool | None
    thinking: bool | None
    images: bool | None
    abilities_from: str


def _abilities(capabilities: Json, source: str) -> _Abilities:
    if not isinstance(capabilities, list):
        return {"tools": None, "thinking": None, "images": None, "abilities_from": ""}
    return {
        "tools": "tools" in capabilities,
        "thinking": "thinking" in capabilities,
        "images": "vision" in capabilities,
        "abilities_from": source,
    }


def _first(entry: Json, paths: Sequence[tuple[str, ...]]) -> tuple[int | None, str]:
    for path in paths:
        if (count := _count(entry, *path)) is not None:
            return count, f"/models {'.'.join(path)}"
    return None, ""


def _items(value: Json, key: str) -> list[Mapping[str, Json]]:
    items = _at(value, key)
    return [item for item in items if isinstance(item, Mapping)] if isinstance(items, list) else []


def _at(value: Json, *path: Json) -> Json:
    for step in path:
        if not isinstance(value, Mapping):
            return None
        value = value.get(step)
    return value


def _count(value: Json, *path: str) -> int | None:
    found = _at(value, *path)
    if not isinstance(found, int) or isinstance(found, bool):
        return None
    return found if 0 < found <= MOST else None


def _text(value: Json, key: str) -> str:
    found = _at(value, key)
    return found if isinstance(found, str) else ""
