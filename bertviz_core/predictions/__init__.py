"""What a model with a task head answers: words at a mask, classes, tags, answers, terms; and the answer per layer."""
