"""The command line: reads it, and starts what was asked for."""
