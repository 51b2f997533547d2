"""Views of Sentences about vectors: from other programs, with prompts, in fewer bits, of long texts."""
