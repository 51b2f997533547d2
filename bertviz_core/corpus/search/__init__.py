"""Search in a corpus: exact, or by an index of neighbours whose recall was measured."""
