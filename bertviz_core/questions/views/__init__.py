"""Views of the pages, declared once for all that shows them."""
