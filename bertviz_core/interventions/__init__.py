"""Interventions: heads, blocks and states are ablated or patched, and one number of the model is measured."""
