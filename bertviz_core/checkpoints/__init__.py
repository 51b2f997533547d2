"""Contents of a checkpoint: values, statistics, health and comparison."""
