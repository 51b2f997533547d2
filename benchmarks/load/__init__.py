"""Load tests with many visitors: `make load`."""
