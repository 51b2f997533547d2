"""Two models beside each other on the page Sentences."""
