"""A report: chosen figures of one model and one text in one HTML file that opens without a network."""
