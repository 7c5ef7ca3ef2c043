"""What was saved, taken over by what is open already: the list of models, approvals and limits at
once, a model's own settings once no run goes on, recorded as any switch is (ENG-8).
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from nodwyn_tui.agent.conversation import Emit
from nodwyn_tui.agent.greeting import keys_told
from nodwyn_tui.agent.models import strategy_of
from nodwyn_tui.agent.opening import Household
from nodwyn_tui.agent.session import Session
from nodwyn_tui.config.files import Loaded
from nodwyn_tui.config.models import ModelChoice, choose_model
from nodwyn_tui.config.schema import Settings
from nodwyn_tui.domain.recipe import Strategy
from nodwyn_tui.errors import ConfigError
from nodwyn_tui.link import events as up

AFTER_RUN = "{name}: once this run has ended"
STAYS = "{name}: this session goes on with it as it was ({why})"
LIMITS = "limits: from the next run on"

Begin = Callable[[Coroutine[Any, Any, None]], "asyncio.Task[None]"]
"""Starts something beside everything else."""


class Renewal:
    """Reads the file anew, and gives what is in it to the household and the open session."""

    def __init__(
        self,
        household: Household,
        session: Callable[[], Session | None],
        emit: Emit,
        begin: Begin,
    ) -> None:
        self._home, self._session, self._emit, self._begin = household, session, emit, begin
        self._one_at_a_time = asyncio.Lock()

    def take(self, *, new_key: str = "") -> list[str]:
        """What takes effect when, a line each, where not at once. `new_key` names a server whose
        key is another one. The model's own settings follow beside: its server is asked first.
        """
        models, session = self._home.models, self._session()
        before, was = models.loaded.settings, self._choice(session, models.loaded)
        loaded = models.reload()
        later = list[str]()
        if (keys := keys_told(loaded.settings)) != keys_told(before):
            self._emit(up.KeysChanged(keys=keys))
        if session is None:
            return later
        session.adopting.allow(loaded.settings.approvals.allow)
        if loaded.settings.limits != before.limits:
            session.adopting.limit(loaded.settings.limits)
            later += [LIMITS] * session.running
        now = self._choice(session, loaded)
        if was and now and _strategy(was, before) != _strategy(now, loaded.settings):
            models.strategy = None  # the later word holds, and not that of the command line
        same = now == was and loaded.settings.window == before.window
        if now is not None and (not same or now.server_name == new_key):
            later += [AFTER_RUN.format(name=now.name)] * session.running
            self._begin(self._renew(session))
        return later

    def _choice(self, session: Session | None, loaded: Loaded) -> ModelChoice | None:
        """The open session's model by the settings; `None` for one that they do not know."""
        try:
            environment = self._home.models.environment
            return choose_model(loaded, environment, session.model) if session else None
        except ConfigError:
            return None

    async def _renew(self, session: Session) -> None:
        """The session's model with the settings as they are now."""
        async with self._one_at_a_time:
            name = session.model
            try:
                found = await self._home.models.choose(name, session.name)
            except ConfigError as error:
                text = STAYS.format(name=name, why=error)
                self._emit(up.Notice(level="warning", text=text))
                return
            if found.target is None:
                return
            if self._session() is not session:
                await found.target.provider.aclose()
                return
            await session.adopting.renew(found.target)


def _strategy(choice: ModelChoice, settings: Settings) -> Strategy:
    return strategy_of(choice.model, settings.window)
