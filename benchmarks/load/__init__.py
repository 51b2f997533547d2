"""Many visitors: `make load`."""
