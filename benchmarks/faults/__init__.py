"""What breaks around an instance: `make faults`."""
