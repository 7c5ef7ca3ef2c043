"""Widgets: each file one thing on the screen, or a pure part of one."""
