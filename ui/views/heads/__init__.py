"""Views of the page Heads."""
