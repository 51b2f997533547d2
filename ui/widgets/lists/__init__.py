"""Lists of texts: handed over as a file, worked on while their reader waits, and taken away as files."""
