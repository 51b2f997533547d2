"""Views of the page Attention."""
