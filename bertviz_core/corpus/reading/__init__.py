"""The rows of an input, one file or many, here or elsewhere, read piece by piece."""
