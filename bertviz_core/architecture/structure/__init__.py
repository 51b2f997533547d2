"""Results about the structure of a model: blocks, normalisations, positions, attention."""
