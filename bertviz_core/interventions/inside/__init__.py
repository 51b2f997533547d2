"""The places inside a model at which a run is changed."""
