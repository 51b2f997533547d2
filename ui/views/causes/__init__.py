"""What the page on heads that matter shows."""
