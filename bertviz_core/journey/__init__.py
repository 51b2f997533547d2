"""A text's way through a whole model: the stages, the numbers of every token in each, and the parts that open."""
