"""Views of Predictions about labelled data: labels that are likely wrong, and answers over a list of questions."""
