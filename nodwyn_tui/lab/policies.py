"""What a re-fold changes of what was recorded (ENG-30). A value that is not set stays as recorded.

What cannot be carried out is refused by name: no policy is folded as another one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import cast

from nodwyn_tui.domain.recipe import Recipe, WindowLimits
from nodwyn_tui.domain.words import STRATEGIES, Strategy
from nodwyn_tui.errors import ReplayError, UsageError
from nodwyn_tui.lab.orders import ORDERS
from nodwyn_tui.window.entries import fixed_tokens
from nodwyn_tui.window.policy import ADDED, policy_for
from nodwyn_tui.window.sizes import Wanted, limits

RECORDED = "recorded"


@dataclass(frozen=True, slots=True, kw_only=True)
class LabPolicy:
    """`recipe` is a version; `high`, `low` and `cap` (of a result) are tokens, `threshold` is a
    share of the ceiling (rollover); `folds` False makes none, True makes them wherever the prefix
    changes anyway, at a trim or a resume (ENG-21); `order` is where fresh rows stand.
    """

    recipe: int | None = None
    high: int | None = None
    low: int | None = None
    cap: int | None = None
    threshold: float | None = None
    folds: bool | None = None
    strategy: str | None = None
    order: str | None = None

    @property
    def name(self) -> str:
        """`recipe=16,high=60000`; `recorded` where nothing is changed."""
        said = {field.name: getattr(self, field.name) for field in fields(self)}
        words = {True: "on", False: "off"}
        pieces = [
            f"{key}={words[value] if isinstance(value, bool) else value}"
            for key, value in said.items()
            if value is not None
        ]
        return ",".join(pieces) or RECORDED

    def check(self) -> None:
        """Raises `UsageError` for what cannot be carried out."""
        if self.recipe is not None:
            try:
                policy_for(self.recipe)
            except ReplayError as error:
                raise UsageError(str(error)) from error
        _known("strategy", self.strategy, STRATEGIES)
        _known("order", self.order, ORDERS)
        if self.strategy == "rollover":
            self._check_rollover()
        elif self.threshold is not None:
            raise UsageError("--threshold changes nothing but under the strategy 'rollover'")
        if self.high is not None and self.low is not None and self.low >= self.high:
            raise UsageError(
                f"the low mark ({self.low:,}) must be below the high one ({self.high:,})"
            )

    def _check_rollover(self) -> None:
        """A window that is left for another is neither trimmed nor folded (ROL-6)."""
        marks = {"high": self.high, "low": self.low, "folds": self.folds or None}
        if given := [name for name, value in marks.items() if value is not None]:
            raise UsageError(
                f"under the strategy 'rollover' --{given[0]} changes nothing: windows are left at"
                " shares of the ceiling, and none is trimmed or folded"
            )
        if self.recipe is not None and not policy_for(self.recipe).resets:
            raise UsageError(f"recipe version {self.recipe} knows no windows that begin anew")

    def recipe_for(self, recorded: Recipe) -> Recipe:
        """The recipe that stands in place of a recorded one."""
        return replace(
            recorded,
            version=recorded.version if self.recipe is None else self.recipe,
            window=self._window(recorded),
            fresh=recorded.fresh if self.order is None else self.order,
            strategy=recorded.strategy
            if self.strategy is None
            else cast("Strategy", self.strategy),
        )

    def _window(self, recorded: Recipe) -> WindowLimits:
        """Marks by the product's own rule (ENG-18): over the ceiling they shrink to its formula,
        and a low mark that is not set follows the high one. Where windows are left for others, the
        ceiling is the high mark.
        """
        window = recorded.window
        if self.cap is not None:
            window = replace(window, max_result_tokens=self.cap)
        if self.threshold is not None:
            window = replace(window, threshold=self.threshold)
        rolled = recorded.strategy == "rollover"
        if (self.strategy or recorded.strategy) == "rollover":
            return replace(window, high_water=window.ceiling)
        if self.high is None and self.low is None and not rolled:
            return window
        low = window.low_water if self.high is None else None
        high = None if rolled else window.high_water
        made = limits(
            recorded.num_ctx,
            fixed_tokens(recorded.system, recorded.tools),
            Wanted(
                max_output=recorded.window.output_reserve,
                high_water=high if self.high is None else self.high,
                low_water=low if self.low is None else self.low,
            ),
            None,
        )
        return replace(window, high_water=made.high_water, low_water=made.low_water)


def recipe_versions(words: str) -> list[int | None]:
    """`16`, `1,16,20`, `1..20` (those of the range that are documented), `recorded`."""
    found: list[int | None] = []
    for word in words.split(","):
        first, dots, last = word.strip().partition("..")
        try:
            if word.strip() == RECORDED:
                found.append(None)
            elif dots:
                found += _between(int(first), int(last))
            else:
                found.append(int(first))
        except ValueError as error:
            raise UsageError(
                f"--recipe takes a version, a list (1,16,20), a range (1..20) or {RECORDED},"
                f" not {word.strip()!r}"
            ) from error
    return found


def _between(first: int, last: int) -> list[int]:
    known = [version for version in ADDED if first <= version <= last]
    if not known:
        raise UsageError(
            f"no recipe from {first} to {last} is documented: give the lower one first"
        )
    return known


def _known(what: str, value: str | None, known: Sequence[str]) -> None:
    if value is not None and value not in known:
        raise UsageError(f"there is no {what} {value!r}; there are: {', '.join(known)}")
