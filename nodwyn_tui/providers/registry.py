"""Which dialect a provider's name means."""

from nodwyn_tui.errors import ConfigError
from nodwyn_tui.providers.base import Dialect
from nodwyn_tui.providers.chat_completions import ChatCompletions
from nodwyn_tui.providers.ollama import Ollama


def dialect(provider: str) -> Dialect:
    """The dialect of a server's `provider`; `ConfigError` if there is none."""
    match provider:
        case "ollama":
            return Ollama()
        case "openai":
            return ChatCompletions()
        case _:
            raise ConfigError(
                "no such provider", key="provider", found=f'"{provider}"', allowed="ollama, openai"
            )
