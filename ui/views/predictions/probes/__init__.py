"""The view that trains a head here: a probe on the model's frozen vectors."""
