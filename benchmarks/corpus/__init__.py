"""Benchmarks of corpora: `make bench-corpus`."""
