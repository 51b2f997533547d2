"""What loading a checkpoint for a task would find, from its header alone."""
