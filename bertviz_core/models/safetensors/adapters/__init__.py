"""LoRA adapters: their settings, their tensors, and the model that they change."""
