"""Nodwyn TUI: a terminal coding assistant with a byte-stable prompt prefix and a log that loses nothing."""

__version__ = "0.1.0"
