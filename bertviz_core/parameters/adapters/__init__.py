"""What a LoRA adapter is beside its base: its rows of the ledger, and its updates."""
