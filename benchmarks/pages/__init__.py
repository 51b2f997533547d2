"""What a reader waits for in a browser: a part of `make bench`."""
