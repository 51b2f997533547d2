"""What the Sentences page shows."""
