"""Figures of what every checkpoint of a training run answers and shows."""
