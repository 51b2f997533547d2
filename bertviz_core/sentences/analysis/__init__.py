"""Questions about sentence vectors: whose they are, prompts, bits, thresholds, long texts, unrelated texts, drift."""
