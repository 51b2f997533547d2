"""Downloads: the theme of figures, their captions, and the report."""
