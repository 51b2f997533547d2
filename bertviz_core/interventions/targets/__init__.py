"""Targets: the number of a model that interventions and attributions measure."""
