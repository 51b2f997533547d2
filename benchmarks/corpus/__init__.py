"""Corpora: `make bench-corpus`."""
