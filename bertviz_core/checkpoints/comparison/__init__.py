"""Compare two checkpoints, or a checkpoint with its rounded copy."""
