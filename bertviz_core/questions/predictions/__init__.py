"""Questions to a model's task head, and to probes fitted on labelled texts."""
