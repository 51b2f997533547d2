"""From a text to its tokens, one run of the model, and the trace of that run."""
