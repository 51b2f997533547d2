"""The view that asks a head, or a probe, about many texts at once."""
