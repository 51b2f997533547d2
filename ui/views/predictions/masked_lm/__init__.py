"""Views of a masked-LM head: words at a mask, surprise, the lens through the layers, expanded terms."""
