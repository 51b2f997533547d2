"""Cost of a run: multiply-adds by part and length, memory of activations by batch and length."""
