"""The view Train a probe: a probe on the model's frozen vectors."""
