"""Vectors on disk: atomically written shards, and a cache of sentence vectors."""
