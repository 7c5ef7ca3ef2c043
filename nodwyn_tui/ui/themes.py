"""The two themes of its own, beside Textual's (TUI-11)."""

from textual.theme import Theme

DARK = Theme(
    name="nodwyn-dark",
    dark=True,
    background="#14161b",
    surface="#1a1d24",
    panel="#232833",
    foreground="#d9dde5",
    primary="#82b1f5",
    secondary="#8fc7b5",
    accent="#dcae6c",
    warning="#e5b567",
    error="#ee7a7f",
    success="#8fcb94",
)

LIGHT = Theme(
    name="nodwyn-light",
    dark=False,
    background="#fbfaf7",
    surface="#f3f1eb",
    panel="#e7e4dc",
    foreground="#23262c",
    primary="#24589f",
    secondary="#22705a",
    accent="#8a5200",
    warning="#855800",
    error="#ad2a24",
    success="#2a7234",
)
