"""What the Predictions page shows."""
