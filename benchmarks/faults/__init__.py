"""Faults around an instance: `make faults`."""
