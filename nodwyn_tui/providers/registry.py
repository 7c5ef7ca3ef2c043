"""Which dialect a provider's name means, and what goes with every request to it."""

from collections.abc import Mapping

from nodwyn_tui.errors import ConfigError
from nodwyn_tui.providers.anthropic import API_VERSION, Anthropic
from nodwyn_tui.providers.base import Dialect, Endpoint
from nodwyn_tui.providers.chat_completions import ChatCompletions
from nodwyn_tui.providers.ollama import Ollama
from nodwyn_tui.providers.responses import Responses


def dialect(provider: str) -> Dialect:
    """The dialect of a server's `provider`; `ConfigError` if there is none."""
    match provider:
        case "ollama":
            return Ollama()
        case "openai":
            return ChatCompletions()
        case "responses":
            return Responses()
        case "anthropic":
            return Anthropic()
        case _:
            raise ConfigError(
                "no such provider",
                key="provider",
                found=f'"{provider}"',
                allowed="ollama, openai, responses, anthropic",
            )


def standing_headers(endpoint: Endpoint) -> Mapping[str, str]:
    """The headers that every request to a server bears besides its key, listings too (PRV-16)."""
    if endpoint.provider == "anthropic":
        return {"anthropic-version": endpoint.api_version or API_VERSION}
    return {}
