"""Views of the page Journey."""
