"""Read lists of sentences from text, CSV, TSV and Parquet files."""
