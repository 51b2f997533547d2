"""Subwords: pieces of a text, edits, words in context, and reference tokenizers."""
