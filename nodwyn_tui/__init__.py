"""Nodwyn TUI: a terminal coding assistant with a byte-stable prompt prefix, which loses nothing."""

__version__ = "0.1.0"
