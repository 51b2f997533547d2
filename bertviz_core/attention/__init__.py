"""Attention: probabilities, maps, rollout and the atlas of all heads."""
