"""The address of a view: which names it may have, what it says, and how the reader reached the view."""
