"""Runners that embed shards outside this process: in several local processes, or on a cluster."""
