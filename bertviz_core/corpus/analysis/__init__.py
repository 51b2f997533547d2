"""Analysis of a whole corpus: map, near duplicates, clusters, and head profiles."""
