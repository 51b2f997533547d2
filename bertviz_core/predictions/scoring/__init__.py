"""Scores of whole texts: the surprise of a text, and a query with each text of a list."""
