"""Views of a query and texts: their order, and its tokens with those of a text."""
