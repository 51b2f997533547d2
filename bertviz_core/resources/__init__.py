"""Memory and processors: a cache with a limit in bytes, and the threads of matrix products."""
