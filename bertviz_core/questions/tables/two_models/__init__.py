"""Tables of two models beside each other: the same sentences, and predictions for one text."""
