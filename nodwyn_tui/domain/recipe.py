"""The recipe: everything besides the log that a window depends on (ENG-8)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from nodwyn_tui.domain import words
from nodwyn_tui.domain.request import ToolSpec

Strategy = words.Strategy
KeepReasoning = bool | Literal["latest"]

CURRENT_VERSION = 20
"""The recipe version of new sessions (ENG-10)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowLimits:
    """The window's marks, in tokens; `threshold` is a share of the ceiling (rollover)."""

    high_water: int
    low_water: int
    ceiling: int
    max_result_tokens: int
    output_reserve: int
    threshold: float = 0.70
    protected: int = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """As recorded by `session.start`, `session.resume` and `session.recipe`.

    `num_ctx` is the context in tokens on every provider; an absent header means the default text.
    """

    version: int
    system: str
    tools: tuple[ToolSpec, ...]
    window: WindowLimits
    num_ctx: int
    keep_alive: str | None = None
    task_header: str | None = None
    plan_header: str | None = None
    max_output: int
    strategy: Strategy = "trim"
    keep_reasoning: KeepReasoning = False
    fresh: str = "off"
    class_caps: Mapping[str, int] = field(default_factory=dict)
