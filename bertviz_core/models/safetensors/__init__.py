"""Checkpoints as safetensors files: headers and folders, read without torch."""
