"""The worker: turns as a stream of events."""
