"""The engine: (events, recipe) to request, and back. Pure."""
