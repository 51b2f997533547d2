"""A report: chosen figures of a model and a text in one HTML file that opens without a network."""
