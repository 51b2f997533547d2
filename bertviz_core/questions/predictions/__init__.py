"""Questions to the task head of a model, and to probes fitted on labelled texts."""
