"""Training runs: the checkpoints of a folder, their log, how their weights moved, and what they compute."""
