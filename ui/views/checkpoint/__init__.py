"""What the Checkpoint page shows."""
