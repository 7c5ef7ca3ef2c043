"""What a front's settings ask of model servers, beside everything else: what they list and know of
models (PRV-11), and a trial of one model, priced first (PRV-12).
"""

import asyncio
from collections.abc import Callable, Sequence

from nodwyn_tui.agent import trial
from nodwyn_tui.agent.assembly import Rooms
from nodwyn_tui.agent.conversation import Emit
from nodwyn_tui.agent.models import Models, listed_servers
from nodwyn_tui.agent.offers import Offer, Offers, configured, listed
from nodwyn_tui.agent.renewal import Begin
from nodwyn_tui.agent.target import Target
from nodwyn_tui.config.models import servers_with_key
from nodwyn_tui.errors import NodwynError, ProviderError
from nodwyn_tui.link import settings as up
from nodwyn_tui.providers.probe import Finding, Outcomes
from nodwyn_tui.store.places import new_id

GOOD = {"yes": True, "no": False, "unknown": None}
AT_HAND = ("", "env", "file")
"""Kinds of credentials that are read without a question."""

STOPPED = "stopped; what was sent already is paid"
BUSY = "another model is being tried; stop that first"


class ModelDesk:
    """`models` gives those by the settings as they would be with what is not saved yet."""

    def __init__(
        self, models: Callable[[], Models], rooms: Rooms, emit: Emit, begin: Begin
    ) -> None:
        self._models, self._rooms, self._emit, self._begin = models, rooms, emit, begin
        self._trial: asyncio.Task[None] | None = None
        self._asked = set[tuple[str, str]]()

    def learn(self, models: Models, then: Callable[[], None]) -> None:
        """Asks the servers of entries what they know of them, each once; `then` is called where one
        knew something. A server whose key the person may have to unlock is left for when they ask.
        """
        loaded = models.loaded
        entries = [
            (name, each)
            for name, each in loaded.settings.models.items()
            if loaded.servers[each.server].credential.partition(":")[0] in AT_HAND
        ]
        wanted = {name: (each.server, each.model) for name, each in entries}
        names = [name for name, place in wanted.items() if place not in self._asked]
        self._asked.update(wanted.values())
        if names:
            self._begin(self._learned(models, names, then))

    async def _learned(
        self, models: Models, names: Sequence[str], then: Callable[[], None]
    ) -> None:
        answers = await asyncio.gather(*(configured(models, name) for name in names))
        if any(not answer.failures for answer in answers):
            then()

    def list_models(self, server: str) -> None:
        """Asks one server, or all that can be, for their models."""
        self._begin(self._listed(server))

    def try_out(self, wanted: up.TestModel) -> None:
        """Tells what a trial costs, or carries it out."""
        if self._trial is not None and not self._trial.done():
            self._emit(up.TrialEnded(model=wanted.model, error=BUSY))
            return
        self._trial = self._begin(self._tried(wanted))

    def stop(self) -> None:
        """Ends a trial."""
        if self._trial is not None:
            self._trial.cancel()

    async def _listed(self, server: str) -> None:
        models = self._models()
        loaded = models.loaded
        keyed = servers_with_key(loaded, models.environment)
        asked = [server] if server else dict.fromkeys([*listed_servers(loaded), *keyed])
        known = [name for name in asked if name in loaded.servers]
        answers: list[Offers] = await asyncio.gather(*(listed(models, name) for name in known))
        failures = [failure for answer in answers for failure in answer.failures]
        if not known:
            failures.append(f"no server is called {server!r}")
        entries = {(each.server, each.model): name for name, each in loaded.settings.models.items()}
        self._emit(
            up.ServerModelsListed(
                server=server,
                models=tuple(
                    _listing(each, entries.get((each.server, each.id), ""))
                    for answer in answers
                    for each in answer.models
                ),
                failures=tuple(failures),
            )
        )

    async def _tried(self, wanted: up.TestModel) -> None:
        """A trial from its target to its end, which is told whatever ends it."""
        error = remedy = ""
        try:
            await self._try(wanted)
        except ProviderError as refusal:
            error, remedy = f"{refusal.server}: {refusal.message}", refusal.remedy
        except NodwynError as why:
            error = str(why)
        except asyncio.CancelledError:
            self._emit(up.TrialEnded(model=wanted.model, error=STOPPED))
            raise
        if error or wanted.agreed:
            self._emit(up.TrialEnded(model=wanted.model, error=error, remedy=remedy))

    async def _try(self, wanted: up.TestModel) -> None:
        models, clock = self._models(), self._rooms.clock
        target = (await models.choose(wanted.model, new_id(clock.now()))).target
        if target is None:
            raise models.missing()
        try:
            tools = [tool.spec for tool in self._rooms.make_tools({})]
            plan = trial.planned(target, tools, clock.now())
            if wanted.agreed:
                await self._carry_out(target, plan)
                return
        finally:
            await target.provider.aclose()
        self._emit(
            up.TrialPriced(model=wanted.model, prompt_tokens=plan.tokens, cost_usd=plan.cost_usd)
        )

    async def _carry_out(self, target: Target, plan: trial.Planned) -> None:
        steps = _Steps(self._emit)
        outcomes = await trial.tried(target, plan, steps.so_far)
        steps.all_of(outcomes)
        spent = trial.cost(target, outcomes, self._rooms.clock.now())
        known = spent is not None
        detail = f"${spent:.4f}" if known else "unknown"
        self._emit(up.TrialStep(label="cost", good=True if known else None, detail=detail))
        if outcomes.refusal is not None:
            raise outcomes.refusal


class _Steps:
    """Tells each finding once: what is good as soon as it shows, the rest at the end."""

    def __init__(self, emit: Emit) -> None:
        self._emit = emit
        self._told = set[str]()

    def so_far(self, outcomes: Outcomes) -> None:
        for finding in outcomes.findings:
            if finding.outcome == "yes" and finding.what != "images":
                self._tell(finding)

    def all_of(self, outcomes: Outcomes) -> None:
        for finding in outcomes.findings:
            self._tell(finding)

    def _tell(self, finding: Finding) -> None:
        if finding.what in self._told:
            return
        self._told.add(finding.what)
        good = GOOD[finding.outcome]
        self._emit(up.TrialStep(label=finding.what, good=good, detail=finding.detail))


def _listing(offer: Offer, entry: str) -> up.ServerModel:
    facts = offer.facts
    rates = facts.price.rates if facts.price else None
    sources = (facts.context_from, facts.price_from, facts.abilities_from)
    return up.ServerModel(
        server=offer.server,
        id=offer.id,
        entry=entry,
        context=facts.context,
        input_usd=rates.input if rates else None,
        output_usd=rates.output if rates else None,
        images=facts.images,
        tools=facts.tools,
        detail="; ".join(dict.fromkeys(source for source in sources if source)),
    )
