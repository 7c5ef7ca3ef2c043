"""Saved settings adopted by a session that is open: approvals at once, limits and the model's own
from the next run on, with a recipe of the log where they change it (ENG-8).
"""

from collections.abc import Awaitable, Callable, Sequence

from nodwyn_tui.agent.conversation import Emit
from nodwyn_tui.agent.parts import Parts
from nodwyn_tui.agent.recipes import resumed_recipe
from nodwyn_tui.agent.target import Target
from nodwyn_tui.config.schema import LimitSettings
from nodwyn_tui.errors import BlockedError, StoreError
from nodwyn_tui.link import events as up


class Adopting:
    """`switch` goes over to another target and records its recipe; `running` says whether a run
    goes on.
    """

    def __init__(
        self,
        parts: Parts,
        emit: Emit,
        switch: Callable[[Target], Awaitable[None]],
        running: Callable[[], bool],
    ) -> None:
        self._parts, self._emit, self._switch, self._running = parts, emit, switch, running
        self._next: Target | None = None

    def allow(self, patterns: Sequence[str]) -> None:
        """The settings' patterns that need no question are these now."""
        self._parts.gate.allow((*patterns, *self._parts.also_allowed))

    def limit(self, settings: LimitSettings) -> None:
        """The settings' limits are these, from the next run on."""
        self._parts.limits = self._parts.limits_by(settings)

    async def renew(self, target: Target) -> None:
        """The model that is asked, with other settings, once no run goes on."""
        stale, self._next = self._next, target
        if stale is not None:
            await stale.provider.aclose()
        if not self._running():
            await self.settle()

    async def settle(self) -> None:
        """No run goes on: takes over what `renew` was given, unless another model is asked."""
        target, self._next = self._next, None
        if target is None:
            return
        try:
            if target.ref.name == self._parts.target.ref.name:
                await self._become(target)
                return
        except (BlockedError, StoreError) as error:
            self._emit(up.Notice(level="error", text=f"the new settings are not taken: {error}"))
        await target.provider.aclose()

    async def close(self) -> None:
        """Lets go of what was not taken over."""
        if self._next is not None:
            await self._next.provider.aclose()

    async def _become(self, target: Target) -> None:
        conversation = self._parts.conversation
        recipe = resumed_recipe(conversation.recipe, target, same_model=True)
        if recipe.num_ctx != target.context:
            target = target.holding(recipe.num_ctx)
        if recipe != conversation.recipe:
            await self._switch(target)
            return
        before, self._parts.target = self._parts.target, target
        await before.provider.aclose()
        self._emit(conversation.meter(target))
