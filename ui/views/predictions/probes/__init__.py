"""The view Train a head: a probe on the model's frozen vectors."""
