"""Sentence vectors: plan, encoding, pooling, similarity and storage."""
