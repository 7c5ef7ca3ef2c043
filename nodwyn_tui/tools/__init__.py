"""What the model may call, a file each."""
