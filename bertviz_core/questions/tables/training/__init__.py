"""Format a training run as tables, JSON and text."""
