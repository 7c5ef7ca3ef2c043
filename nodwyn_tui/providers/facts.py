"""What is known of a model, each figure with its source."""

from dataclasses import dataclass, replace

from nodwyn_tui.domain.price import Price


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFacts:
    """Sizes in tokens; each `_from` says where a figure is from, '' with an unknown one.

    `tools`, `thinking` and `images` are `None` where nothing is said. A shorter prompt than
    `cache_min` is cached nowhere.
    """

    context: int | None = None
    context_from: str = ""
    max_output: int | None = None
    max_output_from: str = ""
    price: Price | None = None
    tools: bool | None = None
    thinking: bool | None = None
    images: bool | None = None
    abilities_from: str = ""
    cache_min: int | None = None
    cache_min_from: str = ""

    @property
    def price_from(self) -> str:
        """Where the prices are from."""
        return self.price.source if self.price else ""

    def over(self, other: "ModelFacts") -> "ModelFacts":
        """These, and where a figure is not there the other's, with its source (PRV-11)."""
        found = self
        if found.context is None:
            found = replace(found, context=other.context, context_from=other.context_from)
        if found.max_output is None:
            found = replace(
                found, max_output=other.max_output, max_output_from=other.max_output_from
            )
        if found.cache_min is None:
            found = replace(found, cache_min=other.cache_min, cache_min_from=other.cache_min_from)
        if found.price is None:
            found = replace(found, price=other.price)
        return found._with_abilities(other)

    def _with_abilities(self, other: "ModelFacts") -> "ModelFacts":
        names = ("tools", "thinking", "images")
        more = {
            name: value
            for name in names
            if getattr(self, name) is None and (value := getattr(other, name)) is not None
        }
        if not more:
            return self
        sources = filter(None, (self.abilities_from, other.abilities_from))
        return replace(self, **more, abilities_from=", ".join(dict.fromkeys(sources)))
