"""What a stranger's model folder may say, and what transformers is given of it."""
