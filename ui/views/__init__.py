"""Views of the pages, one folder per page."""
