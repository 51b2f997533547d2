"""Log, metrics and readiness for the operator of a server."""
