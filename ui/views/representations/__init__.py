"""What the Representations page shows."""
