"""What the Heads page shows."""
