"""What was saved, taken over by what is open already: the list of models, approvals and limits at
once, a model's own settings once no run goes on, recorded as any switch is (ENG-8).
"""

from nodwyn_tui.agent.conversation import Emit
from nodwyn_tui.agent.opening import Household
from nodwyn_tui.agent.session import Session
from nodwyn_tui.config.files import Loaded
from nodwyn_tui.config.models import ModelChoice, choose_model
from nodwyn_tui.config.schema import Settings
from nodwyn_tui.errors import ConfigError
from nodwyn_tui.link import events as up

AFTER_RUN = "{name}: from the next run on, this one goes on as it began"
STAYS = "{name}: this session goes on as it is ({why})"
LIMITS = "limits: from the next run on"


class Renewal:
    """Reads the file anew, and gives what is in it to the household and the open session."""

    def __init__(self, household: Household, session: Session | None, emit: Emit) -> None:
        self._home, self._session, self._emit = household, session, emit

    async def take(self, before: Settings, *, new_key: str = "") -> list[str]:
        """What takes effect when, a line each, where not at once. `before` are the settings as
        they were; `new_key` names a server whose key is another one.
        """
        models = self._home.models
        was = self._choice(models.loaded)
        loaded = models.reload()
        session, later = self._session, list[str]()
        if session is None:
            return later
        session.allow(loaded.settings.approvals.allow)
        if loaded.settings.limits != before.limits:
            session.limit(loaded.settings.limits)
            later += [LIMITS] * session.running
        now = self._choice(loaded)
        same_window = loaded.settings.window == before.window
        if now is None or (now.server_name != new_key and now == was and same_window):
            return later
        return [*later, *await self._renew(session)]

    def _choice(self, loaded: Loaded) -> ModelChoice | None:
        """The open session's model by the settings."""
        name = self._session.model if self._session else ""
        try:
            return choose_model(loaded, self._home.models.environment, name) if name else None
        except ConfigError:
            return None

    async def _renew(self, session: Session) -> list[str]:
        name = session.model
        try:
            found = await self._home.models.choose(name, session.name)
        except ConfigError as error:
            return [STAYS.format(name=name, why=error)]
        if found.target is None:
            return []
        if found.warning:
            self._emit(up.Notice(level="warning", text=found.warning))
        if session.running:
            await session.renew(found.target)
            return [AFTER_RUN.format(name=name)]
        await session.renew(found.target)
        return []
