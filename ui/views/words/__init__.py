"""What the page on words that matter shows."""
