"""Words that floors share, those of the log and the link above all. Apart from `events.py`, so
that the screen, which knows only the words, need not load every kind of log line before its first
paint (PERF-1).
"""

from typing import Literal, get_args

Mode = Literal["plan", "ask", "edits", "auto"]
Strategy = Literal["trim", "rollover", "compact"]
WindowAction = Literal[
    "fold", "drop", "drop_step", "drop_exchange", "restore", "restore_exchange", "rewind", "rewrite"
]
MemoryFile = Literal["facts", "corrections", "context-notes"]
"""What is remembered between sessions, by the name of its file."""
Keeper = Literal["workspace", "person"]
"""Whose memory it is: each keeps files of the same names."""
Pictures = Literal["kitty", "sixel", "halves", "none"]
"""How a terminal shows pictures: by Kitty's protocol, as Sixels, as half cells, or not."""
RunEndWhy = Literal["done", "interrupted", "limit", "error", "blocked"]

STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)
