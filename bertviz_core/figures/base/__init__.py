"""Shared parts of all figures: style, axes, captions and export."""
