"""The vocabulary: events, parts, request, deltas, usage. Imports no library, touches nothing."""
