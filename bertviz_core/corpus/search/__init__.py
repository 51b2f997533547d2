"""Search in a corpus: exact, or by an approximate index with measured recall."""
