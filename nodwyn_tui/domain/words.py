"""Words that the log and the link share. Apart from `events.py`, so that the screen, which knows
only the words, need not load every kind of log line before its first paint (PERF-1).
"""

from typing import Literal

Mode = Literal["plan", "ask", "edits", "auto"]
Strategy = Literal["trim", "rollover", "compact"]
WindowAction = Literal[
    "fold", "drop", "drop_step", "drop_exchange", "restore", "restore_exchange", "rewind"
]
RunEndWhy = Literal["done", "interrupted", "limit", "error", "blocked"]

BUILT_STRATEGIES: tuple[Strategy, ...] = ("trim", "compact")
"""What this version can do when a window fills."""
