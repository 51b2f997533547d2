"""Many texts and their vectors in a folder: made on one machine or many, opened without being read whole."""
