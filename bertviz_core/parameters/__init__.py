"""The ledger: every named parameter, its component, and the totals."""
