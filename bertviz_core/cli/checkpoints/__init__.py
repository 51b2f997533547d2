"""Commands about files: what a task's class loads from one, and where two of them differ."""
