"""Commands that write figures and reports to files."""
