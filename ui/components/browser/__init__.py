"""Invisible components that exchange values with the browser."""
