"""What is in a checkpoint's tensors: values, statistics, health and comparison."""
