"""Format answers as JSON, text tables and data frames, for the command line and the library."""
