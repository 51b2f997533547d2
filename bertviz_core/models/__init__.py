"""Where a model comes from, its family, and how it is loaded."""
