"""Interventions: ablate or patch heads, blocks and states, and measure the change of a target."""
