"""Benchmarks of the library against alternatives, part of `make bench`."""
