"""A tokenizer that a stranger made, at work in a process of its own under limits of memory and time."""
