"""Figures of what a task head answers."""
