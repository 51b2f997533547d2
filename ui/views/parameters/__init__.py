"""What the Parameters page shows."""
