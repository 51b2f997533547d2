"""What the page Corpus shows: many texts of one model, embedded into a folder before."""
