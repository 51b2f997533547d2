"""Heads: one matrix, and where the heads of a layer are in it."""

import ui.views.heads  # noqa: F401  # draws the measured times
from bertviz_core.questions.views.heads import VIEWS, about_heads, question_of
from ui.engine import show_page

show_page("heads", VIEWS, about_heads, question_of=question_of)
