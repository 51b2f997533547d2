"""What a task head answers, drawn."""
