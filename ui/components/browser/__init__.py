"""What the server learns from the browser, or leaves with it; nothing of it is seen."""
