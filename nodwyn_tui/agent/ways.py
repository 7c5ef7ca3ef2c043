"""The ways to a first answer that are there on this machine (TUI-6). Only a local Ollama, or the
one that `OLLAMA_HOST` names, is asked anything; a key is looked for, and never shown.
"""

import asyncio
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from nodwyn_tui.agent.models import Models
from nodwyn_tui.config.servers import LOCAL
from nodwyn_tui.link.setup import Way
from nodwyn_tui.providers.routes import host_of, is_loopback

LOOK_S = 3.0
"""Seconds that Ollama gets to answer; one on this machine needs a hundredth of one."""


class _Hosted(NamedTuple):
    title: str
    key_page: str = ""


_HOSTED: Mapping[str, _Hosted] = {
    "openrouter": _Hosted("OpenRouter", "https://openrouter.ai/settings/keys"),
    "anthropic": _Hosted("Anthropic", "https://console.anthropic.com/settings/keys"),
    "openai": _Hosted("OpenAI", "https://platform.openai.com/api-keys"),
    "deepseek": _Hosted("DeepSeek", "https://platform.deepseek.com/api_keys"),
    "cerebras": _Hosted("Cerebras", "https://cloud.cerebras.ai"),
    "groq": _Hosted("Groq", "https://console.groq.com/keys"),
    "mistral": _Hosted("Mistral", "https://console.mistral.ai/api-keys"),
    "together": _Hosted("Together", "https://api.together.ai/settings/api-keys"),
    "fireworks": _Hosted("Fireworks", "https://app.fireworks.ai/settings/users/api-keys"),
    "baseten": _Hosted("Baseten", "https://app.baseten.co/settings/api_keys"),
    "xai": _Hosted("xAI", "https://console.x.ai"),
    "lmstudio": _Hosted("LM Studio"),
    "llamacpp": _Hosted("llama.cpp"),
    "vllm": _Hosted("vLLM"),
}


async def find_ways(models: Models) -> tuple[Way, ...]:
    """What could answer, the nearest first."""
    ollama = [await _ollama(models)] if "ollama" in models.loaded.servers else []
    servers = list(_servers(models))
    ready = [way for way in servers if way.ready and way.detail]
    others = [way for way in servers if way not in ready]
    if offered := models.local.offered:
        small = Way(
            kind="local", name=LOCAL, title="A small local model", detail=offered, ready=True
        )
        ready.append(small)
    tour = Way(kind="tour", name="tour", title="The tour", ready=True)
    return (*ollama, *ready, *others, tour)


async def _ollama(models: Models) -> Way:
    where = models.loaded.servers["ollama"].base_url
    try:
        async with asyncio.timeout(LOOK_S):
            answer = await models.offered("ollama")
    except TimeoutError:
        answer = f"{where} did not answer within {LOOK_S:g} s"
    title = "Ollama, on this machine" if is_loopback(host_of(where)) else f"Ollama at {where}"
    if isinstance(answer, str):
        return Way(kind="ollama", name="ollama", title=title, detail=answer)
    ids = tuple(listing.id for listing in answer)
    return Way(kind="ollama", name="ollama", title=title, detail=where, ready=True, models=ids)


def _servers(models: Models) -> Iterator[Way]:
    """The person's own servers and the well-known ones. `detail` says where a key is that was
    found; a server that names none is `ready` without.
    """
    keyed = dict(models.keys_at_hand())
    for name, server in models.loaded.servers.items():
        if name == "ollama" or models.runs(name):
            continue
        title, key_page = _HOSTED.get(name, _Hosted(name))
        kind = server.credential.partition(":")[0]
        elsewhere = kind not in ("", "env")
        detail = f"the key in {keyed[name]}" if name in keyed else ""
        if elsewhere:
            detail = "its key is kept already"
        yield Way(
            kind="server",
            name=name,
            title=title,
            detail=detail,
            ready=bool(detail) or not kind,
            key_page=key_page,
        )
