"""What models there are: the person's entries, and what servers list, each with what is known of
it and where that is from (PRV-11).
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from nodwyn_tui.agent.local_weights import CONTEXT
from nodwyn_tui.agent.models import Models, context_of
from nodwyn_tui.config.models import ModelChoice, choose_model
from nodwyn_tui.config.schema import ModelSettings
from nodwyn_tui.errors import ConfigError, ProviderError
from nodwyn_tui.providers.facts import ModelFacts

LOCAL_FACTS = ModelFacts(
    context=CONTEXT, context_from="its weights", tools=False, abilities_from="its weights"
)
"""What is known of the small local model without asking its server."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A model that can be asked by its name. The context and the reply limit are those that it
    would be asked with; `configured` says that it has an entry, `leads` that it leads.
    """

    name: str
    server: str
    id: str
    configured: bool
    leads: bool
    facts: ModelFacts


@dataclass(frozen=True, slots=True)
class Offers:
    """Those that were found, and why others were not: a line each."""

    models: tuple[Offer, ...]
    failures: tuple[str, ...] = ()


async def offers(models: Models, servers: Sequence[str], *, only: bool = False) -> Offers:
    """The person's entries, then whatever `servers` list, all asked at once; `only` leaves out the
    entries of other servers.
    """
    entries = [
        configured(models, name)
        for name, entry in models.loaded.settings.models.items()
        if not only or entry.server in servers
    ]
    listings = [listed(models, server) for server in servers]
    found, failures = list[Offer](), list[str]()
    for answer in await asyncio.gather(*entries, *listings):
        found += answer.models
        failures += answer.failures
    return Offers(tuple(found), tuple(dict.fromkeys(failures)))


async def configured(models: Models, name: str) -> Offers:
    """An entry; where its server does not answer, what is known without it."""
    loaded = models.loaded
    choice = choose_model(loaded, models.environment, name)
    assert choice is not None, "it is an entry's name"
    if models.runs(choice.server_name):  # it is not started for its figures
        return Offers((_offer(models, choice, LOCAL_FACTS, configured=True),))
    facts, failures = ModelFacts(), tuple[str, ...]()
    try:
        provider = await models.connector.provider(choice.server_name, choice.server)
        try:
            facts = await provider.catalogue.facts(choice.model.model)
            models.note(choice.server_name, choice.server, choice.model.model, facts)
        finally:
            await provider.aclose()
    except (ConfigError, ProviderError) as error:
        failures = (str(error),)
    return Offers((_offer(models, choice, facts, configured=True),), failures)


async def listed(models: Models, server: str) -> Offers:
    """What one server lists, or why it does not."""
    answer = await models.offered(server)
    if isinstance(answer, str):
        return Offers((), (answer,))
    where = models.loaded.servers[server]
    found = []
    for listing in answer:
        choice = ModelChoice(
            name=f"{server}/{listing.id}",
            server_name=server,
            server=where,
            model=ModelSettings(server=server, model=listing.id),
        )
        found.append(_offer(models, choice, listing.facts, configured=False))
    return Offers(tuple(found))


def _offer(models: Models, choice: ModelChoice, listed: ModelFacts, *, configured: bool) -> Offer:
    known = models.known(choice, listed)
    context, source = context_of(choice.model, choice.server.provider, known)
    own = ModelFacts(context=context, context_from=source)
    if wanted := choice.model.max_output:
        most = min(wanted, known.max_output or wanted)
        own = replace(own, max_output=most, max_output_from="config.toml")
    return Offer(
        name=choice.name,
        server=choice.server_name,
        id=choice.model.model,
        configured=configured,
        leads=choice.name == models.loaded.settings.model,
        facts=own.over(known),
    )
