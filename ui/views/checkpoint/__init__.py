"""Views of the page Checkpoint."""
