"""Lists of sentences out of files: text, CSV, TSV and Parquet."""
