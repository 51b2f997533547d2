"""Training runs: the checkpoints of a folder, the log of the trainer, and the movement of the weights."""
