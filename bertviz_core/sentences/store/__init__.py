"""Vectors on disk: files that are whole or not there, and the store of the sentences that were read before."""
