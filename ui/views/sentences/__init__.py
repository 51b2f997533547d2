"""Views of the page Sentences."""
