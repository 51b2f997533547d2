"""Questions about what a model makes of texts: tokens, hidden states, heads, attention, sentence vectors."""
