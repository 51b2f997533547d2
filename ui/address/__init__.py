"""The address of a view: its names, their values, and how the reader reached the view."""
