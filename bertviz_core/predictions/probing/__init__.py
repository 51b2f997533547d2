"""Many texts: their predictions beside known labels, and classifiers (probes) fitted on a model's frozen vectors."""
