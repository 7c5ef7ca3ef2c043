"""Where a setting has an effect, and what may be chosen there: by the server's protocol, the
dialect and the strategy of a model.
"""

from dataclasses import dataclass

from nodwyn_tui.config.checks import CACHE_ASKS
from nodwyn_tui.config.described import Described
from nodwyn_tui.config.schema import (
    DialectName,
    ModelSettings,
    ProviderName,
    ServerSettings,
    Settings,
    WindowSettings,
)
from nodwyn_tui.config.servers import default_dialect
from nodwyn_tui.config.typed import choices_of
from nodwyn_tui.domain.words import Strategy
from nodwyn_tui.providers.chat_completions import DIALECTS


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedBy:
    """How a model is asked, or models are: empty where that is not known."""

    provider: ProviderName | None = None
    dialect: DialectName | None = None
    strategies: frozenset[Strategy] = frozenset()

    @classmethod
    def of(cls, entry: ModelSettings, server: ServerSettings, window: WindowSettings) -> "ServedBy":
        """By an entry and its server."""
        named = "dialect" in entry.model_fields_set
        return cls(
            provider=server.provider,
            dialect=entry.dialect if named else default_dialect(entry.server),
            strategies=frozenset({entry.strategy or window.strategy}),
        )

    @classmethod
    def all_of(cls, settings: Settings) -> "ServedBy":
        """What holds for all models together: the strategies in use."""
        own = {entry.strategy for entry in settings.models.values() if entry.strategy}
        return cls(strategies=frozenset({settings.window.strategy} | own))


NOBODY = ServedBy()
"""Of a setting that is no model's and no server's, or of a server that is not known."""


def why_not(about: Described, served: ServedBy) -> str:
    """Why a setting has no effect there, '' where it has one."""
    provider, wanted = served.provider, about.providers
    if provider and wanted and provider not in wanted:
        speaking = " or ".join(wanted)
        return f"only where the server speaks {speaking}; this one speaks {provider}"
    if provider == "openai" and served.dialect and about.key in DIALECTS[served.dialect].refused:
        return f"a server of the dialect {served.dialect} refuses it"
    if about.strategies and served.strategies and served.strategies.isdisjoint(about.strategies):
        return f"only with strategy = {' or '.join(about.strategies)}"
    return ""


def choices(about: Described, served: ServedBy) -> tuple[str, ...]:
    """What may be chosen; for a text, what is often chosen."""
    words = choices_of(about.path) or about.suggestions
    if about.key == "cache_control" and served.provider:
        return tuple(CACHE_ASKS[served.provider])
    return words
