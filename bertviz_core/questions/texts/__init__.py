"""Questions about a model and texts: tokens, hidden states, heads, attention, sentence embeddings."""
