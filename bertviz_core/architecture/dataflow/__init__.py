"""Facts about a model, derived from the dataflow of a run of its modules."""
