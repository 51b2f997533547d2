"""The science of Inside BERT: what is in a BERT-family checkpoint and what it does with a text."""

__version__ = "0.1.0"
