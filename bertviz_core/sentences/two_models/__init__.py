"""Two models beside each other: cosines of the same sentences, and agreement with gold similarities."""
