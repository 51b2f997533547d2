"""Read the rows of an input in pieces, from one or several local or remote files."""
