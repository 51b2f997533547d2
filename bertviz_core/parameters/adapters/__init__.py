"""What an adapter changes in a ledger."""
