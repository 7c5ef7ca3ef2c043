"""What a run may use before it pauses and asks (AGT-5)."""

from dataclasses import dataclass

from nodwyn_tui.agent.ending import Ending
from nodwyn_tui.config.schema import LimitSettings
from nodwyn_tui.domain.usage import Totals
from nodwyn_tui.link.commands import Open

GO_ON = "/continue goes on with it, as far again"

UNPRICED = (
    "the run's cost is unknown, so its limit cannot be kept: set `price` in the model's entry, and"
    " ask a server that reports its usage; or limit its tokens"
)
UNCOUNTED = (
    "the server does not report what it read and wrote, so the run's budget of tokens cannot be"
    " kept: limit its steps or its time"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Of one run; `None` is no limit. Requests, seconds, US dollars, and tokens: those that were
    written, and those that were read, of which a cached one counts a tenth.
    """

    max_steps: int | None = None
    max_seconds: float | None = None
    max_cost: float | None = None
    max_tokens: int | None = None

    def reached(self, steps: int, spent: Totals) -> Ending | None:
        """The ending of a run that may make no further request."""
        if self.max_steps is not None and steps >= self.max_steps:
            return _limit(f"the run reached its limit of {self.max_steps} requests")
        if not steps:
            return None
        return self._over_cost(spent) or self._over_budget(spent)

    def out_of_time(self) -> Ending:
        """The ending of a run that took too long."""
        return _limit(f"the run reached its limit of {self.max_seconds:g} s")

    def _over_cost(self, spent: Totals) -> Ending | None:
        if self.max_cost is None:
            return None
        if spent.cost_usd is None or spent.unpriced:
            return Ending("limit", UNPRICED)
        if spent.cost_usd < self.max_cost:
            return None
        return _limit(f"the run reached its limit of ${self.max_cost:g}")

    def _over_budget(self, spent: Totals) -> Ending | None:
        if self.max_tokens is None:
            return None
        if spent.budget is None:
            return Ending("limit", UNCOUNTED)
        if spent.budget < self.max_tokens:
            return None
        return _limit(
            f"the run used {spent.budget:,.0f} tokens of its {self.max_tokens:,} (one that was read"
            " from the cache counts a tenth)"
        )


def limits_of(command: Open, settings: LimitSettings) -> Limits:
    """The command line's, else the settings'."""
    return Limits(
        max_steps=command.max_steps or settings.max_steps,
        max_seconds=command.max_seconds or settings.max_seconds,
        max_cost=command.max_cost or settings.max_cost,
        max_tokens=command.max_tokens or settings.max_tokens,
    )


def _limit(words: str) -> Ending:
    return Ending("limit", words, remedy=GO_ON)
