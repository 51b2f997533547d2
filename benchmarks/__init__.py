"""Benchmarks against alternatives; `make bench` prints the table."""
