"""Side-by-side measurements; `make bench` prints the table."""
