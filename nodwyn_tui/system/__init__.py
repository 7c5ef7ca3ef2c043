"""The only doors to files, processes and the clock."""
