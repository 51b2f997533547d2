"""What the Architecture page shows."""
