"""A corpus as a whole: its map, near duplicates, clusters, and what heads do on its sentences."""
