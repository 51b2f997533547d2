"""The figure command: a page's figure, written to a file."""
