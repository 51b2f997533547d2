"""Views of the page Representations."""
