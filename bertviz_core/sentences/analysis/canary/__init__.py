"""A canary of a model: texts with their tokens and vectors in a file, and what has changed since it was written."""
