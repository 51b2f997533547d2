"""Addresses of views: names, values, and how the reader reached a view."""
