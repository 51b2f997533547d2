"""Tables of answers to lists of texts: labels, tags, questions, exchanged words."""
