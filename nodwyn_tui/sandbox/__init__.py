"""What a shell command may do: which commands it would run, and where it is confined."""
