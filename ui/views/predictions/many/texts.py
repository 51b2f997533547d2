"""Texts of the view of many predictions."""

HOW = (
    "Texts of like length are run together; what is padded is cut off again, so a text's answer does not depend on its "
    "neighbours. Accuracy is the share of texts whose answer is the gold label. A class's F1 is "
    "`2 hits / (times it is gold + times it is answered)`, macro-F1 the mean over the classes that occur. A label is "
    "compared without regard to capitals; one that is no class of the head counts as a mistake."
)
NO_GOLD = (
    "Without gold labels there is nothing to be compared: type a label and a tab in front of each text, or choose the "
    "column of a file that holds the labels, for accuracy, macro-F1 and a confusion matrix."
)
