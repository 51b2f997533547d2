"""Widgets that pages share: controls, errors, figure blocks and formatting."""
