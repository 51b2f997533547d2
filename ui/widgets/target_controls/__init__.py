"""Widgets for the target of interventions and attributions."""
