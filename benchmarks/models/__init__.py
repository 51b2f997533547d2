"""What the library computes, beside the alternatives: a part of `make bench`."""
