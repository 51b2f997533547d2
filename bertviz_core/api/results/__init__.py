"""Results of the methods of an opened model."""
