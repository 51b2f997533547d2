"""Views of a masked-LM head: masked words, surprise, logit lens, expanded terms."""
