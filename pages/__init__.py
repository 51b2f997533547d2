"""One file per page: ask, compute through ui.cache.ledgers, draw."""
