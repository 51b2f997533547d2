"""Tables in files: CSV, TSV, JSON lines and Parquet, read whole or by ranges of rows; files written whole."""
