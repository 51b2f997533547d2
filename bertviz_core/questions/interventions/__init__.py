"""Questions about what one number of a model depends on: heads and blocks, hidden states, words."""
