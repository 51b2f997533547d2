"""The view Several texts: one answer of a head or probe for each text."""
