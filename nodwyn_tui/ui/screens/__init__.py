"""Screens: they route between widgets and the link, and hold no rules."""
