"""Views of Sentences: vectors from other programs, with prompts, in fewer bits, of long texts; the vocabulary."""
