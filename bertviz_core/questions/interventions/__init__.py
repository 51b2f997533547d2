"""Questions about the causes of a scalar output: heads and blocks, hidden states, words."""
