"""The session log and what lies beside it on the disk."""
