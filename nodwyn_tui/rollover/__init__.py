"""What a session gets back of the windows it has left (ROL-11)."""
