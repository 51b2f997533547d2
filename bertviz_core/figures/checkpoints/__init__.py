"""Figures of a checkpoint's tensors, of two checkpoints, and of the load report."""
