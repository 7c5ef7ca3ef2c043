"""What passes between a front and the worker: commands down, events up."""
