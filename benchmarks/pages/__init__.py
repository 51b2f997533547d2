"""Response times in a browser, part of `make bench`."""
