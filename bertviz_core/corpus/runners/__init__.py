"""Where shards are made besides this process: in several on this machine, on a cluster; by the same function."""
