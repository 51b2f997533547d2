"""Views of our own: one Python and one JavaScript file each."""
