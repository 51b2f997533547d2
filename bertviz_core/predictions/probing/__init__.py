"""Predictions for many texts, their scores against gold labels, and linear probes on frozen vectors."""
