"""Wire protocols: pure dialects, and the one client that speaks HTTP."""
