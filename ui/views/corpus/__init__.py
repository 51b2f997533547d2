"""Views of the page Corpus."""
