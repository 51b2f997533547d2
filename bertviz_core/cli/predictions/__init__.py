"""Commands for predictions of a model, and for their causes."""
