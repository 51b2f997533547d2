"""Views of heads that label: classes, the next sentence, tags, answers; and what an edit of the text changes."""
