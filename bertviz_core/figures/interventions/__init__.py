"""Figures of interventions: effects of heads and blocks, ablation curves, activation patching."""
