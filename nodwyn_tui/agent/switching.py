"""Going over to another model: what that costs, and a fallback that takes over by itself
(PRV-14).
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime

from nodwyn_tui.agent.conversation import Conversation
from nodwyn_tui.agent.recipes import remarks, resumed_recipe
from nodwyn_tui.agent.target import Target
from nodwyn_tui.domain import events as ev
from nodwyn_tui.domain.price import MILLION, Price
from nodwyn_tui.domain.recipe import Recipe
from nodwyn_tui.errors import BlockedError, ConfigError, ErrorKind, ProviderError
from nodwyn_tui.window.build import ORDINARY

PASSES: frozenset[ErrorKind] = frozenset(
    {"rate_limit", "overloaded", "server_error", "transport", "timeout", "incomplete_stream"}
)
"""What is the server's trouble. What it finds wrong with a request or a key is the person's to
mend, and another model in its stead would hide it."""

TAKES_OVER = (
    "{name} takes over, since {failed} failed: {why}. It {cold}. /model goes back to {failed}."
)
CANNOT = "the fallback cannot take over: {why}"


@dataclass(frozen=True, slots=True)
class Cold:
    """Prompt tokens that the next request would read anew, and what that costs in US dollars
    (`None` for an unknown price).
    """

    tokens: int
    cost_usd: float | None

    @classmethod
    def of(cls, tokens: int, price: Price | None, now: datetime) -> "Cold":
        """At a model's price."""
        rate = price.at(tokens, now).full.write if price else None
        return cls(tokens, None if rate is None else rate * tokens / MILLION)

    def __str__(self) -> str:
        cost = "" if self.cost_usd is None else f", about ${self.cost_usd:.2f}"
        return f"reads ~{self.tokens:,} tokens anew{cost}"


def cold(conversation: Conversation, target: Target, now: datetime) -> Cold:
    """What the next request to a model would read anew: all of it, but for what its server's cache
    holds from an earlier time in this session.
    """
    window = conversation.window()
    prediction, _ = conversation.forecast.predict(window, target, ORDINARY, now)
    share = conversation.ledger.facts.calibration(target.ref.origin)
    tokens = max(round(window.estimate * share) - (prediction.cached or 0), 0)
    return Cold.of(tokens, target.price, now)


def recorded(conversation: Conversation, target: Target) -> Recipe:
    """The recipe for another model: the session's own, with the target's sizes (ENG-8). Raises
    `BlockedError` where they hold no session, `StoreError` where the disk refuses.
    """
    recipe = resumed_recipe(conversation.recipe, target, same_model=False)
    began = conversation.began
    assert began is not None, "a session that is asked has a recipe"
    conversation.append(
        ev.SessionRecipe(
            session=began.session, workspace=began.workspace, app=began.app, recipe=recipe
        ),
        *remarks(target, recipe),
        must=True,
    )
    return recipe


class Fallback:
    """The model that is asked where another one fails for good. `find` makes it ready; it gives
    `None` where none is named.
    """

    def __init__(self, find: Callable[[], Awaitable[Target | None]]) -> None:
        self._find = find

    async def take_over(
        self,
        conversation: Conversation,
        failed: Target,
        error: ProviderError,
        now: datetime,
        switch: Callable[[Target], Awaitable[None]],
    ) -> Target | None:
        """Switches to it after a failure, if it can help; the log tells the person either way."""
        if error.kind not in PASSES:
            return None
        try:
            target = await self._found(failed)
            if target is None:
                return None
            told = cold(conversation, target, now)
            await switch(target)
        except (ConfigError, BlockedError) as why:
            _tell(conversation, CANNOT.format(why=why))
            return None
        name, was = target.ref.name, failed.ref.name
        _tell(conversation, TAKES_OVER.format(name=name, failed=was, why=error.message, cold=told))
        return target

    async def _found(self, failed: Target) -> Target | None:
        """None where it is the one that failed."""
        target = await self._find()
        if target is None or target.ref.origin != failed.ref.origin:
            return target
        await target.provider.aclose()
        return None


def _tell(conversation: Conversation, text: str) -> None:
    conversation.append(ev.Note(text=text, audience="person", why="fallback"))
