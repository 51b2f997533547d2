"""Check and sanitize untrusted configs and tokenizer files before transformers reads them."""
