"""Views of the page Architecture."""
