"""Hidden states of every layer: their geometry and how the input embeddings are made."""
