"""The public Python interface: an opened model or corpus, and results that draw, tabulate and show themselves."""
