"""Benchmarks on a GPU: `make bench-gpu`."""
