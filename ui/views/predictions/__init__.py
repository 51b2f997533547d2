"""Views of the page Predictions."""
