"""What counts for a setting that the file does not name, and where that is from (PRV-11)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from nodwyn_tui.agent.models import auto_fresh, context_of
from nodwyn_tui.config.allowed import default_of
from nodwyn_tui.config.described import Described
from nodwyn_tui.config.environment import Environment
from nodwyn_tui.config.schema import ModelSettings, ServerSettings, WindowSettings
from nodwyn_tui.config.servers import default_dialect
from nodwyn_tui.config.typed import as_typed
from nodwyn_tui.domain.recipe import WindowLimits
from nodwyn_tui.errors import BlockedError
from nodwyn_tui.link.settings import SettingOrigin
from nodwyn_tui.providers.facts import ModelFacts
from nodwyn_tui.window.sizes import Wanted, limits, reply_cap


@dataclass(frozen=True, slots=True)
class Default:
    """A value as one types it, where it is from, and that source's name."""

    value: str = ""
    origin: SettingOrigin = "default"
    source: str = ""


def plain_default(about: Described) -> Default:
    """The schema's own."""
    value = as_typed(default_of(about.path))
    return Default(value, source="" if value else about.unset)


def server_default(
    about: Described, known: ServerSettings | None, environment: Environment
) -> Default:
    """Of a server's setting: what is known of a well-known one, whose key and address the
    environment may give.
    """
    value = getattr(known, about.key, None) if len(about.path) == 3 else None
    if known is None or not value:
        return plain_default(about)
    if about.key == "credential":
        variable = known.credential.partition(":")[2]
        if environment.get(variable):
            return Default(as_typed(value), "environment", f"{variable} is set")
        return Default(as_typed(value), source=f"{variable} is not set")
    if about.key == "base_url" and value == environment.ollama_url:
        return Default(as_typed(value), "environment", "OLLAMA_HOST")
    return Default(as_typed(value), source="a well-known server")


@dataclass(frozen=True, slots=True, kw_only=True)
class OfModel:
    """What stands behind a model's entry: its server, the figures that are known of it by the
    server's listing and by the data that comes along, and the `[window]` for all models.
    `prefix` are the tokens of system prompt and tools.
    """

    entry: ModelSettings
    server: ServerSettings
    listed: ModelFacts
    shipped: ModelFacts
    window: WindowSettings
    window_file: Mapping[str, Any]
    prefix: int

    def default(self, about: Described) -> Default:
        """Of one of the entry's settings."""
        found = None
        match about.key:
            case key if "price" in about.path:
                found = self._rate(key)
            case key if key in WindowSettings.model_fields:
                found = self._of_window(about)
            case "dialect":
                found = Default(default_dialect(self.entry.server), source="by the server's name")
            case "keep_reasoning":
                found = Default(as_typed(self.server.provider == "anthropic"))
            case "context" if self.server.provider == "ollama" and self.entry.num_ctx:
                found = Default(str(self.entry.num_ctx), source="num_ctx")
            case "context" | "num_ctx":
                context, source = self._context()
                found = self._told(context, "context", source)
            case "max_output":
                found = self._reply_cap()
            case "images" if (able := self._facts.images) is not None:
                found = self._told(able, "images", self._facts.abilities_from)
        return found or plain_default(about)

    def help(self, about: Described) -> str:
        """What one of the entry's settings does, and what `auto` is for this model (ORD-9)."""
        if about.key != "fresh":
            return about.help
        placement, why = auto_fresh(self.entry, self.server.provider)
        return f"auto is {placement} here: {why}. {about.help}"

    @property
    def _facts(self) -> ModelFacts:
        return self.listed.over(self.shipped)

    def _told(self, value: object, figure: str, source: str) -> Default:
        """A figure with its source, which for a listing's is the server's name too."""
        if getattr(self.listed, figure) is not None:
            return Default(as_typed(value), "listing", f"{self.entry.server}'s {source}")
        shipped = getattr(self.shipped, figure) is not None
        return Default(as_typed(value), "shipped" if shipped else "default", source)

    def _context(self) -> tuple[int, str]:
        bare = self.entry.model_copy(update={"context": None, "num_ctx": None})
        return context_of(bare, self.server.provider, self._facts)

    def _reply_cap(self) -> Default:
        most = self._facts.max_output
        own = context_of(self.entry, self.server.provider, self._facts)[0]
        cap = reply_cap(own, Wanted(output_reserve=self.window.output_reserve), most)
        if cap == most:
            return self._told(cap, "max_output", self._facts.max_output_from)
        return Default(str(cap), source="[window] output_reserve, and the context's quarter")

    def _rate(self, rate: str) -> Default:
        if self.entry.price is not None:
            return Default(source="unknown: the entry has prices of its own")
        price = self._facts.price
        value = getattr(price.rates, rate) if price else None
        if price is None or value is None:
            return Default(source="unknown")
        return self._told(value, "price", price.source)

    def _of_window(self, about: Described) -> Default:
        """The `[window]`'s; marks that it leaves open follow the context (ENG-18)."""
        key = about.key
        value = getattr(self.window, key)
        if value is not None:
            source = ["[window]"] if key in self.window_file else []
            if (key, value) == ("fresh", "auto"):
                source.append(f"{auto_fresh(self.entry, self.server.provider).placement} here")
            return Default(as_typed(value), source=", ".join(source))
        sizes = self._sizes()
        if sizes is None:
            return Default(source=about.unset)
        return Default(as_typed(getattr(sizes, key)), source="from the context")

    def _sizes(self) -> WindowLimits | None:
        entry, window = self.entry, self.window
        context = context_of(entry, self.server.provider, self._facts)[0]
        wanted = Wanted(
            max_output=entry.max_output,
            output_reserve=window.output_reserve,
            high_water=window.high_water,
            low_water=window.low_water,
            max_result_tokens=window.max_result_tokens,
        )
        try:
            return limits(context, self.prefix, wanted, self._facts.max_output)
        except BlockedError:
            return None


def entry_of(values: Mapping[str, Any], name: str, read: ModelSettings | None) -> ModelSettings:
    """A model's entry as it is read, or what can be told of one that is left out."""
    if read is not None:
        return read
    raw = values.get(name)
    given = raw if isinstance(raw, Mapping) else {}
    return ModelSettings(server=str(given.get("server", "")), model=str(given.get("model", "")))
