"""Views of the page Heads that matter."""
