"""Files that a reader takes away: the colours of their figures, and the report of a model and a text."""
