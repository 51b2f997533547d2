"""A text as pieces of words: where each token stands in it, and tokenizers that are made here for comparison."""
