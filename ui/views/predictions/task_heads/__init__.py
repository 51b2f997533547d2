"""Views of task heads: classes, next sentence, tags, answers, and the effect of an edit."""
