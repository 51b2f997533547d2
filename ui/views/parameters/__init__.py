"""Views of the page Parameters."""
