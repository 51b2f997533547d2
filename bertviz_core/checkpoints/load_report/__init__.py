"""Prediction of what loading a checkpoint for a task would find, from its header."""
