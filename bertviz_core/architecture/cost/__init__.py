"""What a run costs: multiply-adds by part and length, memory of activations by batch and length."""
