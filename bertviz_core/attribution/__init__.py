"""Attribution: contributions of words to a target, and of pairs of words to the similarity of two texts."""
