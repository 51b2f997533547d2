"""Answers as JSON objects, as tables of a terminal and as data frames: each once, for command line and library."""
