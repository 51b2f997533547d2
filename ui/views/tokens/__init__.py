"""Views of the page Tokens."""
