"""The model that a session asks, resolved: where it is, how it is asked, how much it holds."""

from dataclasses import dataclass

from nodwyn_tui.config.schema import PriceSettings
from nodwyn_tui.domain.events import ModelRef, Parameters
from nodwyn_tui.domain.recipe import Strategy
from nodwyn_tui.providers.provider import Provider
from nodwyn_tui.window.sizes import Wanted


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A model ready to be asked. `context` in tokens, and where that figure is from ('assumed'
    where nothing told it); `listing_limit` is the most a reply may have by the server's listing.
    """

    ref: ModelRef
    parameters: Parameters
    provider: Provider
    context: int
    context_from: str
    listing_limit: int | None
    wanted: Wanted
    strategy: Strategy
    price: PriceSettings | None

    @property
    def one_slot(self) -> bool:
        """Whether the server keeps only the last prompt it read."""
        return self.ref.provider == "ollama"
