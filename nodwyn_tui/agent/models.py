"""From the person's choice of a model to a target that can be asked."""

import asyncio
import copy
from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass, replace

from nodwyn_tui.agent.connecting import Connector
from nodwyn_tui.agent.local_model import LocalModel
from nodwyn_tui.agent.local_weights import MODEL
from nodwyn_tui.agent.spend import price_of
from nodwyn_tui.agent.switching import Cold
from nodwyn_tui.agent.target import ASSUMED, Target
from nodwyn_tui.config.checks import KEEPS_REASONING
from nodwyn_tui.config.files import Loaded, load_settings
from nodwyn_tui.config.models import ModelChoice, choose_model
from nodwyn_tui.config.schema import (
    ModelSettings,
    ProviderName,
    ServerSettings,
    WindowSettings,
)
from nodwyn_tui.config.servers import LOCAL, default_dialect
from nodwyn_tui.domain.events import ModelRef, Parameters
from nodwyn_tui.domain.price import Price
from nodwyn_tui.domain.recipe import KeepReasoning
from nodwyn_tui.domain.words import Strategy
from nodwyn_tui.errors import ConfigError, ProviderError, UsageError
from nodwyn_tui.link import events as up
from nodwyn_tui.providers.catalogue import PROPS, ModelListing
from nodwyn_tui.providers.facts import ModelFacts
from nodwyn_tui.providers.session_key import session_key
from nodwyn_tui.providers.shipped import Shipped
from nodwyn_tui.window.order import Choice, Placement, placement_for
from nodwyn_tui.window.sizes import Wanted

ASSUMED_CONTEXT = 32_768
"""Where nothing tells the context; and the most that is taken of Ollama's own figure, since it
pays memory for every token of it (ENG-18)."""

SETUP = """\
· Ollama: start it (`ollama serve`) and pull a model, then /setup picks it. It is looked for at \
{ollama}.
{hosted}
· Or name a model in {config}; config.toml.example in Nodwyn's repository shows every setting.
· Or look around first: the tour needs no model."""

HOSTED = """\
· A hosted model: set its key in the environment, for example OPENROUTER_API_KEY, and start with \
`nodwyn --model openrouter/MODEL`."""


@dataclass(frozen=True, slots=True)
class Found:
    """A target, or why there is none; `warning` is a remark for the person."""

    target: Target | None
    warning: str = ""


class Models:
    """The models that this process can ask."""

    def __init__(self, connector: Connector, shipped: Shipped, local: LocalModel) -> None:
        self.connector = connector
        self.loaded, self.environment = connector.loaded, connector.environment
        self.clock = connector.clock
        self.shipped = shipped
        self.strategy: Strategy | None = None
        """What the command line asks for, before what the settings say."""
        self.local = local
        self.tell: Callable[[str], None] = _to_nobody
        """Hears what goes on while the small local model starts."""
        self._only: ModelChoice | None = None
        self._listed: dict[tuple[str, str, str], ModelFacts] = {}

    def facts_of(
        self, name: str, server: ServerSettings, model: str
    ) -> tuple[ModelFacts, ModelFacts]:
        """What a server's listing, as far as it was asked for, and the data that comes along say of
        a model.
        """
        listed = self._listed.get((name, server.base_url, model), ModelFacts())
        return listed, self.shipped.facts(server.base_url, model)

    def reload(self) -> Loaded:
        """Reads the settings again, and goes by them from now on; targets made before stay
        as they are.
        """
        self.loaded = load_settings(self.loaded.file, self.environment)
        self.connector = replace(self.connector, loaded=self.loaded)
        self.connector.hold(*self.connector.credentials.held(self.loaded.servers.values()))
        return self.loaded

    def written_since(self) -> Set[str]:
        """Names of models that the file has by now, and had not when it was read: an editor's."""
        now = load_settings(self.loaded.file, self.environment)
        return now.settings.models.keys() - self.loaded.settings.models.keys()

    def by(self, loaded: Loaded) -> "Models":
        """The same by other settings, such as those that are not saved yet."""
        other = copy.copy(self)
        other.loaded, other.connector = loaded, replace(self.connector, loaded=loaded)
        return other

    @property
    def led(self) -> bool:
        """Whether it is settled which model leads."""
        settings = self.loaded.settings
        return self._only is not None or bool(settings.model or settings.models)

    def only(self, choice: ModelChoice) -> None:
        """From now on there is this model alone (the tour's)."""
        self._only = choice

    async def choose(self, wanted: str, session: str) -> Found:
        """The target for `wanted`, else the configured one, else what a local Ollama has.

        Raises `ConfigError` where what was asked for cannot be had.
        """
        if self._only is not None:
            if wanted not in ("", self._only.name):
                raise UsageError("the tour has its own guide: leave it first (/quit), then choose")
            return await self.target(self._only, session)
        if wanted == LOCAL and self.runs(LOCAL) and LOCAL not in self.loaded.settings.models:
            wanted = f"{LOCAL}/{MODEL}"
        choice = choose_model(self.loaded, self.environment, wanted)
        if choice is None:
            choice = await self._from_ollama()
        if choice is None:
            return Found(None)
        return await self.target(choice, session)

    def setup(self) -> str:
        """What to do where no model was found."""
        ollama = self.loaded.servers.get("ollama")
        where = ollama.base_url if ollama else "no address: its entry in config.toml is wrong"
        hosted = "\n".join(
            f"· A hosted model: {variable} is set; /model {server}/MODEL asks that server."
            for server, variable in self.keys_at_hand()
        )
        return SETUP.format(ollama=where, hosted=hosted or HOSTED, config=self.loaded.file)

    def missing(self) -> ConfigError:
        """That no model was found where one has to be asked, and what to do."""
        return ConfigError(f"no model is set up yet\n{self.setup()}")

    def keys_at_hand(self) -> Iterator[tuple[str, str]]:
        """The servers whose key the environment holds, and where."""
        for name, server in self.loaded.servers.items():
            kind, _, variable = server.credential.partition(":")
            if kind == "env" and self.environment.get(variable):
                yield name, variable

    async def target(self, choice: ModelChoice, session: str) -> Found:
        """A choice made ready: its key read, its context asked for."""
        server = await self.reached(choice.server_name, choice.server)
        provider = await self.connector.provider(choice.server_name, server)
        warning, facts = "", ModelFacts()
        try:
            facts = await provider.catalogue.facts(choice.model.model)
        except ProviderError as error:
            warning = str(error)
        self.note(choice.server_name, choice.server, choice.model.model, facts)
        facts = self.known(choice, facts)
        context, source = context_of(choice.model, choice.server.provider, facts)
        return Found(
            Target(
                ref=ModelRef(
                    name=choice.name,
                    server=choice.server_name,
                    provider=choice.server.provider,
                    id=choice.model.model,
                    origin=f"{choice.server_name}/{choice.model.model}",
                ),
                parameters=replace(
                    _parameters(choice, context, session), scopes=provider.endpoint.scopes or None
                ),
                provider=provider,
                context=context,
                context_from=source,
                facts=facts,
                wanted=_wanted(choice.model, self.loaded.settings.window),
                strategy=self.strategy or strategy_of(choice.model, self.loaded.settings.window),
                folds=_folds(choice.model, self.loaded.settings.window),
                fresh=_fresh(choice, self.loaded.settings.window),
                tools=not (self.runs(choice.server_name) or _refuses_tools(facts)),
            ),
            warning,
        )

    async def reached(self, name: str, server: ServerSettings) -> ServerSettings:
        """A server with the address that it has now: the small local model's is started for it.
        Raises `ConfigError` where it cannot be.
        """
        if not self.runs(name):
            return server
        running = await self.local.start(self.tell)
        self.connector.credentials.lend(name, running.key)
        self.connector.hold(running.key)
        return server.model_copy(update={"base_url": running.base_url})

    def runs(self, server: str) -> bool:
        """Whether this process runs that server itself: one of that name may be the person's."""
        return server == LOCAL and LOCAL not in self.loaded.settings.servers

    async def fallback(self, session: str) -> Target | None:
        """The model that takes over where another one fails; `None` where none is named. Raises
        `ConfigError` where it cannot be asked.
        """
        name = self.loaded.settings.fallback
        if not name or self._only is not None:
            return None
        return (await self.choose(name, session)).target

    def known(self, choice: ModelChoice, listed: ModelFacts) -> ModelFacts:
        """What is known of a model: its price, and whether it takes images, by its entry; all else
        by its server's listing, or by the data that comes along.
        """
        images = choice.model.images
        own = ModelFacts(
            price=_own_price(choice.model),
            images=images,
            abilities_from="" if images is None else "config.toml",
        )
        shipped = self.shipped.facts(choice.server.base_url, choice.model.model)
        return own.over(listed).over(shipped)

    def note(self, name: str, server: ServerSettings, model: str, facts: ModelFacts) -> None:
        """What a server's listing says of a model, for `facts_of`."""
        self._listed[name, server.base_url, model] = facts

    async def listed(self, current: str, prompt_tokens: int = 0) -> up.ModelsListed:
        """Every model the person can pick: configured ones, then what their servers and a local
        Ollama have, all asked at once. With the tokens of the next prompt each of the others tells
        what going over to it costs (PRV-14).
        """
        if self._only is not None:
            return up.ModelsListed(models=(up.ModelChoice(name=self._only.name, current=True),))
        entries = self.loaded.settings.models.items()
        found = [
            (name, f"{each.server} · {each.model}", self._price(each)) for name, each in entries
        ]
        servers = listed_servers(self.loaded)
        answers = await asyncio.gather(*(self.offered(server) for server in servers))
        for server, answer in zip(servers, answers, strict=True):
            if not isinstance(answer, str):
                found += [(f"{server}/{each.id}", server, each.facts.price) for each in answer]
        now = self.clock.now()
        return up.ModelsListed(
            models=tuple(
                up.ModelChoice(name=name, detail=detail, current=True)
                if name == current
                else _other(name, detail, Cold.of(prompt_tokens, price, now))
                for name, detail, price in found
            ),
            failures=tuple(answer for answer in answers if isinstance(answer, str)),
        )

    def _price(self, entry: ModelSettings) -> Price | None:
        """What is known of an entry's price without asking its server."""
        where = self.loaded.servers[entry.server].base_url
        return _own_price(entry) or self.shipped.facts(where, entry.model).price

    async def offered(self, server: str) -> list[ModelListing] | str:
        """A server's listing, or why there is none."""
        try:
            where = await self.reached(server, self.loaded.servers[server])
            provider = await self.connector.provider(server, where)
        except ConfigError as error:
            return str(error)
        try:
            listings = await provider.catalogue.models()
        except ProviderError as error:
            return str(error)
        finally:
            await provider.aclose()
        for each in listings:
            self.note(server, self.loaded.servers[server], each.id, each.facts)
        return listings

    async def _from_ollama(self) -> ModelChoice | None:
        """The first model of a local Ollama, if one answers."""
        if "ollama" not in self.loaded.servers:
            return None
        listings = await self.offered("ollama")
        if isinstance(listings, str) or not listings:
            return None
        return choose_model(self.loaded, self.environment, f"ollama/{listings[0].id}")


def _to_nobody(_text: str) -> None:
    """Where nobody listens."""


def _refuses_tools(facts: ModelFacts) -> bool:
    """Whether a request that offers tools would be refused. llama.cpp takes it in any case: it only
    says that the model's own template knows none.
    """
    return facts.tools is False and facts.abilities_from != PROPS


def _other(name: str, detail: str, cold: Cold) -> up.ModelChoice:
    """A model that is not asked now, and what going over to it costs."""
    return up.ModelChoice(
        name=name,
        detail=f"{detail} · {cold}" if cold.tokens else detail,
        cold_tokens=cold.tokens,
        cold_usd=cold.cost_usd if cold.tokens else None,
    )


def _own_price(entry: ModelSettings) -> Price | None:
    """The person's own price table."""
    return None if entry.price is None else price_of(entry.price, "config.toml")


def listed_servers(loaded: Loaded) -> list[str]:
    """Servers whose listing is short and free to ask: the person's own, and Ollama."""
    return [
        name
        for name in dict.fromkeys(["ollama", *loaded.settings.servers])
        if name in loaded.servers
    ]


def context_of(entry: ModelSettings, provider: str, facts: ModelFacts) -> tuple[int, str]:
    """Tokens, and where the figure is from."""
    own = entry.num_ctx if provider == "ollama" else None
    if own or entry.context:
        return own or entry.context or 0, "config.toml"
    if facts.context is None:
        return ASSUMED_CONTEXT, ASSUMED
    if provider == "ollama" and facts.context > ASSUMED_CONTEXT:
        return ASSUMED_CONTEXT, f"{facts.context_from}, kept to {ASSUMED_CONTEXT:,} for its memory"
    return facts.context, facts.context_from


def _parameters(choice: ModelChoice, context: int, session: str) -> Parameters:
    entry, provider = choice.model, choice.server.provider
    on_ollama = provider == "ollama"
    # One Ollama has no use for the session's name; a router before several routes by its header.
    named = not on_ollama or bool(choice.server.cache_key_header)
    return Parameters(
        num_ctx=context if on_ollama else None,
        keep_alive=entry.keep_alive if on_ollama else None,
        think=_think(entry.effort) if on_ollama else None,
        effort=None if on_ollama else entry.effort,
        summary=entry.summary if provider == "responses" else None,
        dialect=entry.dialect if provider == "openai" else None,
        cache_control=None if entry.cache_control == "off" else entry.cache_control,
        cache_key=entry.cache_key if named else None,
        session_key=session_key(session) if named else None,
        cache_key_header=choice.server.cache_key_header or None,
        keep_reasoning=_keep_reasoning(entry, provider),
    )


def _keep_reasoning(entry: ModelSettings, provider: ProviderName) -> KeepReasoning:
    """The person's word; unset, on where a model would think all of it again at each call."""
    if provider not in KEEPS_REASONING:
        return False
    return provider == "anthropic" if entry.keep_reasoning is None else entry.keep_reasoning


def _think(effort: str | None) -> bool | str | None:
    """Ollama's `think`: off is false, a level stands as it is, unset leaves it to the server."""
    return False if effort == "off" else effort


def strategy_of(entry: ModelSettings, window: WindowSettings) -> Strategy:
    """The model's own, else the one for all."""
    return entry.strategy or window.strategy


def auto_fresh(entry: ModelSettings, provider: ProviderName) -> Choice:
    """Where fresh context stands in a model's requests if nobody says, and why (ORD-9)."""
    return placement_for(
        provider,
        breakpoints=entry.cache_control != "off",
        keeps_reasoning=bool(_keep_reasoning(entry, provider)),
        dialect=(entry.dialect or default_dialect(entry.server)) if provider == "openai" else None,
    )


def _fresh(choice: ModelChoice, window: WindowSettings) -> Placement:
    wanted = choice.model.fresh or window.fresh
    if wanted != "auto":
        return wanted
    return auto_fresh(choice.model, choice.server.provider).placement


def _folds(entry: ModelSettings, window: WindowSettings) -> bool:
    return window.folds if entry.folds is None else entry.folds


def _wanted(entry: ModelSettings, window: WindowSettings) -> Wanted:
    return Wanted(
        max_output=entry.max_output,
        output_reserve=window.output_reserve,
        high_water=entry.high_water or window.high_water,
        low_water=entry.low_water or window.low_water,
        max_result_tokens=entry.max_result_tokens or window.max_result_tokens,
        threshold=entry.threshold or window.threshold,
    )
