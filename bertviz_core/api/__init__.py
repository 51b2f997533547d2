"""The public Python interface: opened models and corpora, and results with figures, tables and JSON."""
