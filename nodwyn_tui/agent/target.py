"""The model that a session asks, resolved: where it is, how it is asked, how much it holds."""

from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

from nodwyn_tui.config.servers import is_private
from nodwyn_tui.domain.events import ModelRef, Parameters
from nodwyn_tui.domain.price import Price
from nodwyn_tui.domain.recipe import Strategy
from nodwyn_tui.providers.facts import ModelFacts
from nodwyn_tui.providers.provider import Provider
from nodwyn_tui.window.order import Placement
from nodwyn_tui.window.sizes import Wanted

ASSUMED = "assumed"
"""Where a context is from that nothing told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A model ready to be asked. `context` in tokens, and where that figure is from (`ASSUMED`
    where nothing told it); `facts` are the other figures of the model, with their sources; `folds`
    says whether stale results are folded by themselves.
    """

    ref: ModelRef
    parameters: Parameters
    provider: Provider
    context: int
    context_from: str
    wanted: Wanted
    strategy: Strategy
    facts: ModelFacts = field(default_factory=ModelFacts)
    folds: bool = True
    fresh: Placement = "off"
    """Where fresh context stands in its requests (ORD-9)."""
    tools: bool = True
    """Whether its sessions have any: a server may refuse whatever offers them to this model."""

    def holding(self, context: int) -> "Target":
        """The same with the context that a session was recorded with."""
        told = self.parameters.num_ctx is not None
        parameters = replace(self.parameters, num_ctx=context) if told else self.parameters
        return replace(self, context=context, context_from="the session", parameters=parameters)

    @property
    def listing_limit(self) -> int | None:
        """The most tokens that a reply may have, by what is known of the model."""
        return self.facts.max_output

    @property
    def price(self) -> Price | None:
        """The price table, if there is one."""
        return self.facts.price

    @property
    def one_slot(self) -> bool:
        """Whether the server keeps only the last prompt it read."""
        return self.ref.provider == "ollama"

    @property
    def is_local(self) -> bool:
        """Whether the server is on this machine or its network."""
        return is_private(urlsplit(self.provider.endpoint.base_url).hostname or "")

    @property
    def asks_for_cache(self) -> bool:
        """Whether a prompt is cached at all: Anthropic's protocol does so where it is asked to."""
        return self.ref.provider != "anthropic" or self.parameters.cache_control is not None

    @property
    def marks_no_reply(self) -> bool:
        """Whether what is cached ends at marks, of which no reply can bear one (ORD-6)."""
        return self.ref.provider == "responses" and self.parameters.cache_control is not None
