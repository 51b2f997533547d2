"""What can be asked about a model, a text or a corpus: each question once, for page, command line and library alike."""
