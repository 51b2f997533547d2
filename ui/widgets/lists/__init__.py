"""Lists of texts: handed over as a file, and worked on while their reader waits."""
