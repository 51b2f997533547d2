"""What each page shows, one folder a page."""
