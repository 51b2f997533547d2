"""What the Attention page shows."""
